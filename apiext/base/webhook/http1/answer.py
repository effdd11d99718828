"""The answer to a request."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from apiext.base.webhook.http1.failures import BrokenConnectionError, MalformedAnswerError, TooLargeAnswerError

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GZIP: Final = 16 + zlib.MAX_WBITS
"""zlib's number of the format."""
_PIECE: Final = 4096
"""Bytes that are decompressed at once: at the end of a member, zlib copies the rest of them."""


class HttpAnswer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    body: bytes
    """Decompressed; empty if the answer is a redirect."""

    @property
    def location(self) -> str:
        """Return where an answer redirects to, "" if it does not."""
        return self.headers.get("Location", "") if self.status in REDIRECTS else ""


def decompressed(data: bytes, limit: int) -> bytes:
    """Return the content of gzip data with one or more members, in a time that is linear in their sizes.

    Raises:
        TooLargeAnswerError: it has more bytes than the limit.
        MalformedAnswerError: the data is not gzip.
        BrokenConnectionError: the data ends early.
    """
    content, member, position = bytearray(), zlib.decompressobj(_GZIP), 0
    while position < len(data):
        if member.eof:
            member = zlib.decompressobj(_GZIP)
        piece = data[position : position + _PIECE]
        try:
            content += member.decompress(piece, limit + 1 - len(content))
        except zlib.error:
            raise MalformedAnswerError("gzip: invalid header") from None
        if len(content) > limit:
            raise TooLargeAnswerError
        position += len(piece) - len(member.unused_data)
    if not member.eof:
        raise BrokenConnectionError
    return bytes(content)
