"""A stream of a connection: a request and the way of its response."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.endpoints.responsewriters.response import FramingWriter
from apiext.base.http2 import frames
from apiext.base.http2.send_queue import SendStream
from apiext.server.http.http2.header_encoder import encode_head
from apiext.server.http.transports import STALL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aiohttp import web
    from aiohttp.streams import StreamReader

    from apiext.server.http.http2.request_body import RequestBody


_OF_CONNECTIONS: Final = frozenset({"connection", "transfer-encoding", "keep-alive"})


class StreamConnection(Protocol):
    """What a stream asks of its connection."""

    def send_block(self, stream: RequestStream, block: bytes, *, ends: bool) -> None:
        """Send a header block, which may end the stream."""

    def send_data(self, stream: RequestStream, data: bytes | memoryview, *, last: bool) -> bool:
        """Send data as far as the windows allow. Return whether some of it waits."""
        ...

    def reset(self, stream: RequestStream, code: int) -> None:
        """End the stream, and the handler of its request."""


class RequestStream(SendStream, FramingWriter):
    """A request that is being answered, from its head to the end of both directions."""

    def __init__(self, connection: StreamConnection, stream_id: int, body: RequestBody | StreamReader, length: int | None) -> None:
        self.begin()
        self._connection = connection
        self.id = stream_id
        self.body = body
        self.length = length
        """The declared bytes of the body, None if the head does not tell."""
        self.credit = 0
        """Bytes of the body that the client may still send."""
        self.ungranted = 0
        """Bytes that were read, and for which the client has no credit yet."""
        self.request: web.BaseRequest | None = None
        self.task: asyncio.Task[None] | None = None
        """The task of the handler."""
        self.is_answered = False
        """Whether the whole response is written, although a part of it may wait for the client's windows."""
        self.is_over = False
        """Whether the stream was reset, or its connection lost."""
        self._waiter: asyncio.Future[None] | None = None

    def begin_response(self, status: int, fields: Iterable[tuple[str, str]], *, has_body: bool) -> None:
        """See FramingWriter.begin_response."""
        if self.is_over:
            raise ConnectionResetError("the stream is closed")
        block = encode_head(status, fields)
        self.output_size += len(block)
        self.is_answered = not has_body
        self._connection.send_block(self, block, ends=not has_body)

    def send_continue(self) -> None:
        """See FramingWriter.send_continue."""
        if not self.is_over and not self.output_size:
            self._connection.send_block(self, encode_head(100, ()), ends=False)

    def send(self, data: bytes | memoryview, *, last: bool = False) -> bool:
        """See FramingWriter.send."""
        if self.is_over:
            raise ConnectionResetError("the stream is closed")
        self.output_size += len(data)
        self.is_answered = last
        return self._connection.send_data(self, data, last=last)

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        """Send a part of the body; wait while the client does not receive it."""
        if chunk and self.send(memoryview(chunk)):
            await self.drain()

    async def write_eof(self, chunk: bytes = b"") -> None:
        """Send the last part of the body."""
        if not self.is_answered and self.send(chunk, last=True):
            await self.drain()

    async def drain(self) -> None:
        """Wait until what was written is sent. A client that receives nothing for STALL_SECONDS loses the stream.

        Raises:
            ConnectionResetError: the stream is closed.
        """
        while self.unsent and not self.is_over:
            left = len(self.unsent)
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await self._waiter
            except TimeoutError:
                if len(self.unsent) == left:
                    self._connection.reset(self, frames.CANCEL)
            finally:
                self._waiter = None
        if self.is_over:
            raise ConnectionResetError("the stream is closed")

    def on_sent(self) -> None:
        """Let the writer continue."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def abandon(self) -> None:
        """End the handler: nobody receives its response."""
        self.is_over = True
        self.on_sent()
        if self.task is not None:
            self.task.cancel()

    # What aiohttp's own responses use.

    async def write_headers(self, status_line: str, headers: Mapping[str, str]) -> None:
        """Send the head of a response of aiohttp."""
        fields = [(name, value) for name, value in headers.items() if name.lower() not in _OF_CONNECTIONS]
        self.begin_response(int(status_line.split(" ", 2)[1]), fields, has_body=True)

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None:
        """Do nothing: no handler lets aiohttp compress."""

    def enable_chunking(self) -> None:
        """Do nothing: DATA frames have a length."""
