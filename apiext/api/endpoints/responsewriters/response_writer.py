"""Writes the bytes of responses that frame themselves."""

from __future__ import annotations

from typing import Final

from aiohttp.http_writer import StreamWriter

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
