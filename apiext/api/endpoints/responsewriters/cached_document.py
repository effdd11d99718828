"""A document that changes rarely: encoded, hashed and compressed once for many clients.

Mirrors kube-openapi pkg/cached and pkg/handler, and apiserver pkg/endpoints/discovery/aggregated/etag.go.
"""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from aiohttp import hdrs, web

from apiext.api.endpoints.responsewriters.response import NO_HEADERS, Reply

_MIN_COMPRESSED_BYTES: Final = 128 * 1024
"""Least size in bytes of a compressed reply (responsewriters.defaultGzipThresholdBytes)."""
_GZIP_LEVEL: Final = 4


class Document:
    """Bytes with a content type. The hash and the compressed form are computed on first use.

    `created` is the time of construction in seconds since the epoch.
    """

    def __init__(self, body: bytes, content_type: str, *, tag: str = "") -> None:
        self.body = body
        self.content_type = content_type
        self._tag = tag
        self.created = int(time.time())

    @cached_property
    def hash(self) -> str:
        """Return the upper-case hex SHA-512 of the body, or a given tag in its place. Equal documents may share a tag."""
        return self._tag or hashlib.sha512(self.body).hexdigest().upper()

    @property
    def etag(self) -> str:
        """Return the hash as an ETag header."""
        return f'"{self.hash}"'

    @cached_property
    def compressed(self) -> bytes:
        """Return the body in gzip."""
        return gzip.compress(self.body, _GZIP_LEVEL, mtime=0)

    def reply(self, request: web.BaseRequest, *, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
        """Return the reply to a request, compressed if the body is large and the client accepts gzip."""
        if len(self.body) < _MIN_COMPRESSED_BYTES or not accepts_gzip(request):
            return Reply(self.body, content_type=self.content_type, headers=headers)
        vary = ", ".join(filter(None, (headers.get(hdrs.VARY), hdrs.ACCEPT_ENCODING)))
        merged = {**headers, hdrs.CONTENT_ENCODING: "gzip", hdrs.VARY: vary}
        return Reply(self.compressed, content_type=self.content_type, headers=merged)


def accepts_gzip(request: web.BaseRequest) -> bool:
    """Return whether the client accepts gzip. Read quality values as Go's net/http handlers do."""
    for clause in request.headers.get(hdrs.ACCEPT_ENCODING, "").split(","):
        coding, _, params = clause.partition(";")
        if coding.strip().lower() == "gzip":
            return params.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
