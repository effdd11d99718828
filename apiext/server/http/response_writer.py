"""Writes the bytes of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import ClientConnectionResetError
from aiohttp.http_writer import StreamWriter

if TYPE_CHECKING:
    from aiohttp.http_writer import Buffer

_LIMIT: Final = 0x10000
"""Bytes after which a writer waits until the transport's buffer is empty enough, as in aiohttp."""


class ResponseWriter(StreamWriter):
    """Writes what a response has framed itself without aiohttp's steps for other responses."""

    async def write(self, chunk: Buffer, *, drain: bool = True, LIMIT: int = _LIMIT) -> None:  # noqa: N803 -- aiohttp's signature
        """Write bytes, and wait while the client receives too slowly.

        Raises:
            ConnectionError: the client has disconnected.
        """
        if self._headers_buf is not None or self.chunked or self.length is not None or self._compress is not None:
            await super().write(chunk, drain=drain, LIMIT=LIMIT)
            return
        size = len(chunk)
        self.buffer_size += size
        self.output_size += size
        transport = self._protocol.transport
        if transport is None or transport.is_closing():
            raise ClientConnectionResetError("Cannot write to closing transport")
        transport.write(chunk)
        if drain and self.buffer_size > LIMIT:
            self.buffer_size = 0
            await self.drain()
