"""Conditional, partial and compressed responses with a document.

Mirrors ServeContent of Go's net/http (fs.go) and NYTimes/gziphandler around it, as kube-openapi uses both.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Final

from aiohttp import hdrs, web

from apiext.endpoints.responsewriters.cached_document import Document, accepts_gzip
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.status import text_reply

_COMPRESS_FROM: Final = 1400
"""Bytes from which a body is compressed (gziphandler DefaultMinSize)."""
_ETAG: Final = re.compile(r'(?:W/)?"[!\x23-\x7e\x80-\uffff]*"')
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_DATES: Final = ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S %Z", "%a %b %d %H:%M:%S %Y")


def content_reply(request: web.BaseRequest, document: Document, headers: Mapping[str, str], *, compress: bool = False) -> Reply:
    """Return the response to a request for a document: 200, 206, 304, 412 or 416. The ETag must be a strong one."""
    own = {hdrs.LAST_MODIFIED: formatdate(document.created, usegmt=True), **headers}
    code = _precondition(request, own.get(hdrs.ETAG, ""), document.created)
    if code == 304:
        if hdrs.ETAG in own:
            del own[hdrs.LAST_MODIFIED]
        return Reply(status=304, headers=own)
    if code == 412:
        # without an ETag the reference sets the type only when it writes the body
        return Reply(status=412, headers=own | ({hdrs.CONTENT_TYPE: document.content_type} if hdrs.ETAG in own else {}))
    wanted = request.headers.get(hdrs.RANGE, "")
    if wanted and not _range_applies(request, own.get(hdrs.ETAG, ""), document.created):
        wanted = ""
    try:
        ranges = _ranges(wanted, len(document.body))
    except _RangeError as error:
        rest = {name: text for name, text in own.items() if name not in _DOCUMENT_HEADERS} | error.headers
        return text_reply(str(error), status=416, headers=rest)
    own[hdrs.ACCEPT_RANGES] = "bytes"
    status = 200
    if ranges:
        status = 206
        if len(ranges) == 1:
            own[hdrs.CONTENT_RANGE] = _content_range(ranges[0], document)
        document = _part(document, ranges)
    if compress and len(document.body) >= _COMPRESS_FROM and accepts_gzip(request) and request.method != hdrs.METH_HEAD:
        own[hdrs.CONTENT_ENCODING] = "gzip"
        return Reply(document.compressed, status=status, content_type=document.content_type, headers=own)
    return Reply(document.body, status=status, content_type=document.content_type, headers=own)


# --- conditions -----------------------------------------------------------------------------------------------------


def _precondition(request: web.BaseRequest, etag: str, created: int) -> int:
    """Return 304 or 412 if the request's conditions do not hold, else 200."""
    reads = request.method in {hdrs.METH_GET, hdrs.METH_HEAD}
    match = request.headers.get(hdrs.IF_MATCH, "")
    if match:
        if not _has_match(match, etag):
            return 412
    elif (since := _date(request.headers.get(hdrs.IF_UNMODIFIED_SINCE, ""))) is not None and created > since:
        return 412
    known = request.headers.get(hdrs.IF_NONE_MATCH, "")
    if known:
        if not _has_match(known, etag, weak=True):
            return 200
        return 304 if reads else 412
    since = _date(request.headers.get(hdrs.IF_MODIFIED_SINCE, ""))
    return 304 if reads and since is not None and created <= since else 200


def _has_match(header: str, etag: str, *, weak: bool = False) -> bool:
    """Return whether a list of ETags has `*` or this ETag, with `weak` also as a weak one. Ignore entries after a malformed one."""
    rest = header.strip()
    while rest:
        if rest[0] == ",":
            rest = rest[1:].lstrip()
            continue
        if rest[0] == "*":
            return True
        found = _ETAG.match(rest)
        if found is None:
            return False
        if etag == (found[0].removeprefix("W/") if weak else found[0]):
            return True
        rest = rest[found.end() :].lstrip()
    return False


def _date(text: str) -> int | None:
    """Return an HTTP date in seconds since the epoch, None if it is invalid."""
    for form in _DATES:
        try:
            return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
        except ValueError:
            continue
    return None


def _range_applies(request: web.BaseRequest, etag: str, created: int) -> bool:
    """Return whether If-Range allows a partial response."""
    known = request.headers.get(hdrs.IF_RANGE, "")
    if not known or request.method not in {hdrs.METH_GET, hdrs.METH_HEAD}:
        return True
    found = _ETAG.match(known.lstrip())
    return etag == found[0] if found else _date(known) == created


# --- ranges ---------------------------------------------------------------------------------------------------------


_DOCUMENT_HEADERS: Final = frozenset({hdrs.CACHE_CONTROL, hdrs.ETAG, hdrs.LAST_MODIFIED})
"""Headers of the document that an error response omits."""


class _RangeError(Exception):
    """The Range header is invalid or not satisfiable; `headers` are those of the response."""

    def __init__(self, text: str, headers: Mapping[str, str]) -> None:
        super().__init__(text)
        self.headers = dict(headers)


def _ranges(header: str, size: int) -> list[range]:
    """Return the ranges of a Range header, an empty list for the whole document. Raises _RangeError."""
    if not header:
        return []
    unit, equals, listed = header.partition("=")
    if unit != "bytes" or not equals:
        raise _RangeError("invalid range", {})
    requested = [_range(part, size) for part in map(str.strip, listed.split(",")) if part]
    found = [one for one in requested if one is not None]
    if requested and not found:
        raise _RangeError("invalid range: failed to overlap", {hdrs.CONTENT_RANGE: f"bytes */{size}"})
    return found if sum(map(len, found)) <= size else []


def _range(part: str, size: int) -> range | None:
    """Return one range, None if it starts after the end of the document. Raises _RangeError."""
    first, dash, last = map(str.strip, part.partition("-"))
    if not dash:
        raise _RangeError("invalid range", {})
    if not first:
        if last.startswith("-"):
            raise _RangeError("invalid range", {})
        return range(max(0, size - _number(last)), size)
    start = _number(first)
    if start >= size:
        return None
    end = min(_number(last) + 1, size) if last else size
    if start >= end:
        raise _RangeError("invalid range", {})
    return range(start, end)


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text) or not 0 <= (number := int(text)) < 2**63:
        raise _RangeError("invalid range", {})
    return number


def _part(document: Document, ranges: Sequence[range]) -> Document:
    """Return one range, or several as multipart/byteranges."""
    parts = [document.body[one.start : one.stop] for one in ranges]
    if len(parts) == 1:
        return Document(parts[0], document.content_type)
    boundary = secrets.token_hex(30)
    body = b"\r\n".join(
        f"--{boundary}\r\nContent-Range: {_content_range(one, document)}\r\nContent-Type: {document.content_type}\r\n\r\n".encode() + part
        for one, part in zip(ranges, parts, strict=True)
    )
    return Document(body + f"\r\n--{boundary}--\r\n".encode(), f"multipart/byteranges; boundary={boundary}")


def _content_range(one: range, document: Document) -> str:
    return f"bytes {one.start}-{one.stop - 1}/{len(document.body)}"
