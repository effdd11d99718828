"""Conditional and compressed responses with a document, as kube-openapi gives them. Ranges of documents are not served."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate
from typing import Final

from aiohttp import hdrs, web

from apiext.endpoints.responsewriters.cached_document import Document, accepts_gzip
from apiext.endpoints.responsewriters.response import Reply

_COMPRESS_FROM: Final = 1400
"""Bytes from which a body is compressed (gziphandler DefaultMinSize)."""
_ANY_ETAG: Final = "*"


def content_reply(request: web.BaseRequest, document: Document, headers: Mapping[str, str], *, compress: bool = False) -> Reply:
    """Return the response to a request for a document: 200, or 304 where the client has it."""
    own = {hdrs.LAST_MODIFIED: formatdate(document.created, usegmt=True), **headers}
    if request.method in {hdrs.METH_GET, hdrs.METH_HEAD} and _is_known(request, own.get(hdrs.ETAG, ""), document.created):
        if hdrs.ETAG in own:
            del own[hdrs.LAST_MODIFIED]
        return Reply(status=304, headers=own)
    if compress and len(document.body) >= _COMPRESS_FROM and accepts_gzip(request) and request.method != hdrs.METH_HEAD:
        own[hdrs.CONTENT_ENCODING] = "gzip"
        return Reply(document.compressed, content_type=document.content_type, headers=own)
    return Reply(document.body, content_type=document.content_type, headers=own)


def _is_known(request: web.BaseRequest, etag: str, created: int) -> bool:
    """Return whether If-None-Match names the ETag or, without that header, the document is not newer than If-Modified-Since."""
    if request.headers.get(hdrs.IF_NONE_MATCH):
        return any(known.value in {_ANY_ETAG, etag.strip('"')} for known in request.if_none_match or ())
    since = request.if_modified_since
    return since is not None and created <= since.timestamp()
