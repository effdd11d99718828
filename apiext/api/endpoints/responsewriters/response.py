"""HTTP responses: a complete one, and a stream whose headers are sent first.

Both contain the headers that filters attach to the request (`HEADERS`, `WARNINGS`).
Mirrors apiserver pkg/endpoints/handlers/responsewriters.
"""

from __future__ import annotations

import time
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_writer import StreamWriter

from apiext.api.endpoints.request import HEADERS, WARNINGS, audit_of
from apiext.api.endpoints.responsewriters.warning_headers import warning_headers
from apiext.api.endpoints.serializers.negotiation import JSON
from apiext.base.scheduling.time_slice import Pace

NO_HEADERS: Final[Mapping[str, str]] = {}
LINE_BREAK: Final = "a header must not contain a line break"
_NO_WARNINGS: Final[Sequence[str]] = ()
_BODILESS: Final = frozenset({204, 304})
PIECE_BYTES: Final = 96 * 1024
"""Bytes of a piece of a huge response; other tasks run between pieces. With its copies for TLS, a piece fits into a core's cache."""

_GZIP_LEVEL: Final = 1
"""That of the reference."""
_GZIP_WBITS: Final = 31
"""A window of 32 KiB, with gzip's header and trailer."""
_WRITE_BYTES: Final = 48 * 1024
"""Bytes of a write. TLS keeps a buffer of the largest write of a connection until it ends; with smaller writes, lists cost more time."""


_DRAINED_BYTES: Final = 64 * 1024
"""Bytes after which a writer looks whether the transport's buffer is full; aiohttp's limit."""


class ResponseWriter(StreamWriter):
    """aiohttp's writer, with a short way for bytes that it need not frame, compress or count."""

    def send(self, data: bytes | memoryview) -> bool:
        """Write bytes at once. Return whether the caller should wait for `drain`.

        Raises:
            ConnectionError: the client has disconnected.
        """
        transport, size = self.transport, len(data)
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self.output_size += size
        self.buffer_size += size
        transport.write(data)
        if self.buffer_size <= _DRAINED_BYTES:
            return False
        self.buffer_size = 0
        return True


class FramingWriter(AbstractStreamWriter):
    """Writes a response that the protocol frames: a stream of HTTP/2."""

    @abstractmethod
    def begin_response(self, status: int, fields: Iterable[tuple[str, str]], *, has_body: bool) -> None:
        """Send the head.

        Raises:
            ConnectionError: the client has disconnected.
            ValueError: a field contains a line break.
        """

    @abstractmethod
    def send_continue(self) -> None:
        """Ask the client for the body."""

    @abstractmethod
    def send(self, data: bytes | memoryview, *, last: bool = False) -> bool:
        """Write bytes of the body at once, the last ones if `last`. Return whether the caller should wait for `drain`.

        Raises:
            ConnectionError: the client has disconnected.
        """


class _Framed(web.StreamResponse):
    """A response that frames itself, and has no attribute of aiohttp's but these."""

    status: int = 200
    keep_alive: bool | None = None
    """Whether the connection stays open after the response; None until that is known."""

    def force_close(self) -> None:
        """Close the connection after the response."""
        self.keep_alive = False


class Reply(_Framed):
    """A complete response. It is sent in one write, or in pieces if the body is huge.

    `body` may be given in parts. `headers` take precedence over those of the filters.
    """

    def __init__(
        self,
        body: bytes | Sequence[bytes] = b"",
        *,
        status: int = 200,
        content_type: str = JSON,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        # instead of aiohttp's attributes for headers, state and reason
        self.status = status
        self.parts: Sequence[bytes] = (body,) if isinstance(body, bytes) else body
        self._type = content_type
        self.extra_headers = headers
        self._written = False

    @property
    def prepared(self) -> bool:
        """Return whether the response was sent."""
        return self._written

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the response unless it was sent before.

        Raises:
            ConnectionError: the client has disconnected.
            ValueError: a header contains a line break.
        """
        if self._written:
            return None
        self._written = True
        status, length = self.status, sum(map(len, self.parts))
        if isinstance(request.writer, FramingWriter):
            await self._send_by(request.writer, request, length)
            return request.writer
        self.keep_alive = keep_alive = request.keep_alive and self.keep_alive is not False
        kind = f"Content-Type: {self._type}\r\n" if length and self._type else ""
        size = "" if status in _BODILESS else f"Content-Length: {length}\r\n"
        head = _head(request, status, self.extra_headers, kind + size, keep_alive=keep_alive)
        writer = request.writer
        if length <= PIECE_BYTES or request.method == "HEAD":
            data = head if request.method == "HEAD" else b"".join((head, *self.parts))
            if not isinstance(writer, ResponseWriter):
                await writer.write(data)
            elif writer.send(data):
                await writer.drain()
        else:
            await _write_in_pieces(writer, (head, *self.parts))
        return writer

    async def _send_by(self, writer: FramingWriter, request: web.BaseRequest, length: int) -> None:
        has_body = length > 0 and request.method != "HEAD"
        size = None if self.status in _BODILESS else length
        writer.begin_response(self.status, _fields(request, self.extra_headers, self._type if length else "", size), has_body=has_body)
        if not has_body:
            return
        if length <= PIECE_BYTES:
            if writer.send(b"".join(self.parts), last=True):
                await writer.drain()
        else:
            await _write_in_pieces(writer, self.parts)
            await writer.write_eof()

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: `prepare` has sent the whole response."""

    def join(self) -> bool:
        """Copy the parts of a body into one piece. Return False if there is none, or if it was sent."""
        if self._written or not any(self.parts):
            return False
        self.parts = (b"".join(self.parts),)
        return True


class AbortedResponse(web.StreamResponse):
    """The end of an incomplete response. It closes the connection, so that the client detects the failure."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Make the server close the connection.

        Raises:
            ConnectionResetError: always.
        """
        raise ConnectionResetError("the response was aborted")


def has_begun(request: web.BaseRequest) -> bool:
    """Return whether part of a response was written: then no other response is possible."""
    return request.writer.output_size > 0


async def started(request: web.BaseRequest, code: int) -> None:
    """Emit the audit event of the beginning of a long answer."""
    audit = audit_of(request)
    if audit is not None and audit.long_running and (waiting := audit.start(code)) is not None:
        await waiting


class ResponseStream(_Framed):
    """A response of unknown length. After `prepare` it is written in HTTP chunks.

    Each chunk is framed here as one piece: it becomes one TLS record, and many streams can share it.
    """

    def __init__(
        self,
        *,
        status: int = 200,
        content_type: str = JSON,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__()
        self.status = status
        self._type = content_type
        self.extra_headers = headers
        self._to: AbstractStreamWriter | None = None
        self._framed = False

    @property
    def prepared(self) -> bool:
        """Return whether the headers were sent."""
        return self._to is not None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the headers, including those of the filters.

        Raises:
            ConnectionError: the client has disconnected.
            ValueError: a header contains a line break.
        """
        if self._to is None:
            await started(request, self.status)
            self._to = writer = request.writer
            if isinstance(writer, FramingWriter):
                writer.begin_response(self.status, _fields(request, self.extra_headers, self._type, None), has_body=True)
                return writer
            self._framed = request.version.minor > 0
            self.keep_alive = request.keep_alive and self._framed
            size = "Transfer-Encoding: chunked\r\n" if self._framed else ""
            body = f"Content-Type: {self._type}\r\n{size}"
            await writer.write(_head(request, self.status, self.extra_headers, body, keep_alive=self.keep_alive))
        return self._to

    async def write(self, data: bytes) -> None:  # type: ignore[override]
        """Send a piece; wait while the transport's buffer is full.

        Raises:
            ConnectionError: the client has disconnected.
            RuntimeError: `prepare` was not called.
        """
        if self._to is None:
            raise RuntimeError("prepare() has not been called")
        for part in _writes(chunk(data) if self._framed else data):
            await self._to.write(part)

    async def write_shared(self, piece: Piece) -> None:
        """Send a piece that other streams share. Raises as `write`."""
        to, data = self._to, piece.framed if self._framed else piece.data
        if to is None:
            raise RuntimeError("prepare() has not been called")
        for part in _writes(data):
            if not isinstance(to, ResponseWriter | FramingWriter):
                await to.write(part)
            elif to.send(part):
                await to.drain()

    async def write_eof(self, data: bytes = b"") -> None:
        """End the response."""
        if isinstance(self._to, FramingWriter):
            await self._to.write_eof()
        elif self._framed and self._to is not None:
            self._framed = False
            await self._to.write(b"0\r\n\r\n")


async def _write_in_pieces(writer: AbstractStreamWriter, parts: Iterable[bytes]) -> None:
    """Write much data; other tasks run between pieces."""
    pace = Pace()
    # release requests that share work on the same list
    await pace.pause()
    for piece in pieces(parts):
        for part in _writes(piece):
            await writer.write(part)
            # a fast client never fills the transport's buffer
            await pace.checkpoint()


def pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Cut or join parts to about PIECE_BYTES."""
    batch: list[bytes] = []
    size = 0
    for part in parts:
        if size and size + len(part) > PIECE_BYTES:
            yield b"".join(batch)
            batch, size = [], 0
        if len(part) > 2 * PIECE_BYTES:
            view = memoryview(part)
            yield from (bytes(view[at : at + PIECE_BYTES]) for at in range(0, len(part), PIECE_BYTES))
        else:
            batch.append(part)
            size += len(part)
    if batch:
        yield b"".join(batch)


def _writes(data: bytes) -> Iterable[bytes | memoryview]:
    """Cut data to at most _WRITE_BYTES."""
    if len(data) <= _WRITE_BYTES:
        return (data,)
    view = memoryview(data)
    return [view[at : at + _WRITE_BYTES] for at in range(0, len(data), _WRITE_BYTES)]


def chunk(data: bytes) -> bytes:
    """Return data as an HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Piece:
    """Data framed once for all streams."""

    __slots__ = ("_compressed", "data", "framed")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.framed = chunk(data)
        self._compressed: Piece | None = None

    def compressed(self) -> Piece:
        """Return the data as a gzip member of its own: streams begin at different pieces.

        It is flushed before its end: Go returns what is read up to the end of a member only when the next member begins.
        """
        if self._compressed is None:
            gzip = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WBITS)
            self._compressed = Piece(gzip.compress(self.data) + gzip.flush(zlib.Z_SYNC_FLUSH) + gzip.flush())
        return self._compressed


def _head(request: web.BaseRequest, status: int, own: Mapping[str, str], body: str, *, keep_alive: bool) -> bytes:
    """Encode the status line and all headers. `body` has the header lines about the body."""
    connection, minor = "", 1 if request.version.minor else 0
    if not keep_alive:
        connection = "Connection: close\r\n" if minor else ""
    elif not minor:
        connection = "Connection: keep-alive\r\n"
    lines = f"{_status_line(status, minor)}{_lines(request, own)}{body}{connection}{_date_line(int(time.time()))}"
    return lines.encode(errors="surrogateescape")


def _lines(request: web.BaseRequest, own: Mapping[str, str]) -> str:
    """Return the header lines of the filters and of the response."""
    headers = request.get(HEADERS, NO_HEADERS)
    if own:
        for text in own.values():
            if "\n" in text or "\r" in text:
                raise ValueError(LINE_BREAK)
        headers = {**headers, **own}
    lines = "\r\n".join([*map(": ".join, headers.items()), ""])
    warnings = request.get(WARNINGS, _NO_WARNINGS)
    if warnings:
        lines += "".join([f"Warning: {text}\r\n" for text in warning_headers(warnings)])
    return lines


def _fields(request: web.BaseRequest, own: Mapping[str, str], content_type: str, length: int | None) -> Iterator[tuple[str, str]]:
    """Yield all headers as fields of a head that the protocol frames."""
    headers = request.get(HEADERS, NO_HEADERS)
    yield from ({**headers, **own} if own else headers).items()
    warnings = request.get(WARNINGS, _NO_WARNINGS)
    if warnings:
        for text in warning_headers(warnings):
            yield "Warning", text
    if content_type:
        yield "Content-Type", content_type
    if length is not None:
        yield "Content-Length", str(length)
    yield "Date", _date(int(time.time()))


@lru_cache(maxsize=64)
def _status_line(status: int, minor: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.{minor} {status} {phrase}\r\n"


@lru_cache(maxsize=2)
def _date_line(second: int) -> str:
    """Return the Date header and the end of the headers, computed once a second."""
    return f"Date: {_date(second)}\r\n\r\n"


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
