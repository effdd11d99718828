"""A document that many clients read and that seldom changes: rendered, hashed and compressed once.

Mirrors kube-openapi pkg/cached and pkg/handler, and apiserver pkg/endpoints/discovery/aggregated/etag.go.
"""

from __future__ import annotations

import gzip
import hashlib
import time
from functools import cached_property
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

from apiext.endpoints.responsewriters.response import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPRESSED_FROM: Final = 128 * 1024
"""Bytes from which on a reply is compressed for clients that can read it (responsewriters.defaultGzipThresholdBytes)."""
_LEVEL: Final = 4
_NO_HEADERS: Final[Mapping[str, str]] = {}


class Document:
    """Bytes with a content type; its hash and its compressed form are made when first asked for.

    `made` is when it was made, in seconds since the epoch.
    """

    def __init__(self, body: bytes, content_type: str, *, tag: str = "") -> None:
        self.body = body
        self.content_type = content_type
        self._tag = tag
        self.made = int(time.time())

    @cached_property
    def hash(self) -> str:
        """Upper-case hex SHA-512, or the one that it was made with: documents of equal content may share it."""
        return self._tag or hashlib.sha512(self.body).hexdigest().upper()

    @property
    def etag(self) -> str:
        """The hash as an ETag header has it."""
        return f'"{self.hash}"'

    @cached_property
    def compressed(self) -> bytes:
        """The body in gzip."""
        return gzip.compress(self.body, _LEVEL, mtime=0)

    def reply(self, request: web.BaseRequest, *, headers: Mapping[str, str] = _NO_HEADERS, compress_from: int = COMPRESSED_FROM) -> Reply:
        """The answer to a request, compressed from that size on where the client reads gzip."""
        if len(self.body) < compress_from or not accepts_gzip(request):
            return Reply(self.body, content_type=self.content_type, headers=headers)
        vary = ", ".join(filter(None, (headers.get(hdrs.VARY), hdrs.ACCEPT_ENCODING)))
        merged = {**headers, hdrs.CONTENT_ENCODING: "gzip", hdrs.VARY: vary}
        return Reply(self.compressed, content_type=self.content_type, headers=merged)


def accepts_gzip(request: web.BaseRequest) -> bool:
    """Whether the client reads gzip."""
    for clause in request.headers.get(hdrs.ACCEPT_ENCODING, "").split(","):
        coding, _, params = clause.partition(";")
        if coding.strip().lower() == "gzip":
            return params.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
