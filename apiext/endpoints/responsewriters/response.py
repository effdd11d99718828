"""Answers as they go on the wire: a complete one in a single write, and a stream whose headers go first.

Both carry the headers that the filters put on the request (`HEADERS`, `WARNINGS`), whoever answers.
Mirrors apiserver pkg/endpoints/handlers/responsewriters.
"""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from aiohttp import web

from apiext.endpoints.request import HEADERS, WARNINGS
from apiext.endpoints.responsewriters.warning_headers import warning_headers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiohttp.abc import AbstractStreamWriter

JSON: Final = "application/json"
_NO_HEADERS: Final[Mapping[str, str]] = {}
_NO_WARNINGS: Final[Sequence[str]] = ()
_BODILESS: Final = frozenset({204, 304})


class Reply(web.StreamResponse):
    """A complete answer: status line, headers and body leave in one write.

    `body` may come in parts, which are joined once. `headers` are the reply's own; they win over those of the filters.
    """

    def __init__(
        self,
        body: bytes | Sequence[bytes] = b"",
        *,
        status: int = 200,
        content_type: str = JSON,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        super().__init__(status=status)
        self.parts: Sequence[bytes] = (body,) if isinstance(body, bytes) else body
        self._type = content_type
        self._own = headers
        self._written = False

    @property
    def prepared(self) -> bool:
        """Whether it has been sent."""
        return self._written

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it, once. Raises ConnectionError when the client is gone."""
        if self._written:
            return None
        self._written = True
        head = self._head(request, sum(map(len, self.parts)))
        writer = request.writer
        await writer.write(head if request.method == "HEAD" else b"".join((head, *self.parts)))
        return writer

    def _head(self, request: web.BaseRequest, length: int) -> bytes:
        self._keep_alive = keep_alive = request.keep_alive and self._keep_alive is not False
        kind = f"Content-Type: {self._type}\r\n" if length and self._type else ""
        size = "" if self.status in _BODILESS else f"Content-Length: {length}\r\n"
        return _head(request, self.status, self._own, kind + size, keep_alive=keep_alive)

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to send."""


class BrokenOff(web.StreamResponse):
    """The end of an answer that has begun and cannot be completed: the connection is closed, so that the client notices."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Raises ConnectionResetError, which makes the server close the connection."""
        raise ConnectionResetError("the answer broke off")


class Refusal(web.StreamResponse):
    """An answer that is written as it is, after which the connection is closed."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer
        self._keep_alive = False

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it. Raises ConnectionError when the client is gone."""
        await request.writer.write(self._answer)
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to send."""


def has_begun(request: web.BaseRequest) -> bool:
    """Whether a part of the answer has been written, so that no other answer can be given."""
    return request.writer.output_size > 0


class Stream(web.StreamResponse):
    """An answer written in pieces after `prepare`: of a given length, or of an unknown one as HTTP chunks.

    Chunks are framed here, each as one piece, so that it leaves as one TLS record and many streams can share it.
    """

    def __init__(
        self,
        *,
        status: int = 200,
        content_type: str = JSON,
        headers: Mapping[str, str] = _NO_HEADERS,
        length: int | None = None,
    ) -> None:
        super().__init__(status=status)
        self._type = content_type
        self._own = headers
        self._length = length
        self._to: AbstractStreamWriter | None = None
        self._framed = False

    @property
    def prepared(self) -> bool:
        """Whether the headers have been sent."""
        return self._to is not None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the headers, those of the filters included. Raises ConnectionError when the client is gone."""
        if self._to is None:
            self._framed = self._length is None and request.version.minor > 0
            self._keep_alive = request.keep_alive and (self._framed or self._length is not None)
            size = f"Content-Length: {self._length}\r\n" if self._length is not None else ""
            size = "Transfer-Encoding: chunked\r\n" if self._framed else size
            self._to = request.writer
            body = f"Content-Type: {self._type}\r\n{size}"
            await self._to.write(_head(request, self.status, self._own, body, keep_alive=self._keep_alive))
        return self._to

    async def write(self, data: bytes) -> None:  # type: ignore[override]
        """Send a piece; waits while the client is behind. Raises ConnectionError when it is gone."""
        if self._to is None:
            raise RuntimeError("the headers come first")
        await self._to.write(chunk(data) if self._framed else data)

    async def write_shared(self, piece: Piece) -> None:
        """Send a piece that other streams send too."""
        if self._to is None:
            raise RuntimeError("the headers come first")
        await self._to.write(piece.framed if self._framed else piece.data)

    async def write_eof(self, data: bytes = b"") -> None:
        """End the answer."""
        if self._framed and self._to is not None:
            self._framed = False
            await self._to.write(b"0\r\n\r\n")


def chunk(data: bytes) -> bytes:
    """A piece of an answer as an HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Piece:
    """A piece of an answer, framed once for all streams that send it."""

    __slots__ = ("data", "framed")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.framed = chunk(data)


def _head(request: web.BaseRequest, status: int, own: Mapping[str, str], body: str, *, keep_alive: bool) -> bytes:
    """Status line and all headers; `body` are the lines about the body."""
    connection, minor = "", min(request.version.minor, 1)
    if not keep_alive:
        connection = "Connection: close\r\n" if minor else ""
    elif not minor:
        connection = "Connection: keep-alive\r\n"
    lines = f"{_status_line(status, minor)}{_lines(request, own)}{body}{connection}{_date_line(int(time.time()))}"
    return lines.encode(errors="surrogateescape")


def _lines(request: web.BaseRequest, own: Mapping[str, str]) -> str:
    """Header lines of the filters and the reply's own."""
    headers = request.get(HEADERS, _NO_HEADERS)
    if own:
        for text in own.values():
            if "\n" in text or "\r" in text:
                raise ValueError("a header must not contain a line break")
        headers = {**headers, **own}
    lines = "".join([f"{name}: {text}\r\n" for name, text in headers.items()])
    warnings = request.get(WARNINGS, _NO_WARNINGS)
    if warnings:
        lines += "".join([f"Warning: {text}\r\n" for text in warning_headers(warnings)])
    return lines


@lru_cache(maxsize=64)
def _status_line(status: int, minor: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.{minor} {status} {phrase}\r\n"


@lru_cache(maxsize=2)
def _date_line(second: int) -> str:
    """The Date header and the end of all headers; made once a second."""
    return f"Date: {formatdate(second, usegmt=True)}\r\n\r\n"
