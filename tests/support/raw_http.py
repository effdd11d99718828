"""A server and a proxy that send bytes as a test says."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from hack.lib.servers.certificates import KeyPair


class _Listening:
    """Serves connections on loopback, one coroutine each."""

    def __init__(self) -> None:
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def listening(self, tls: ssl.SSLContext | None) -> AsyncIterator[int]:
        """Yield the port. Close all connections at the end."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=tls)
        async with server:
            yield server.sockets[0].getsockname()[1]
        open_ones = dict(self._open)
        for writer in open_ones:
            writer.transport.abort()
        await asyncio.gather(*open_ones.values(), return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[writer] = task
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            del self._open[writer]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError


class RawServer(_Listening):
    """A server on loopback that reads requests, and answers each with the next bytes; after the last ones it closes a connection."""

    def __init__(self, answers: list[bytes]) -> None:
        super().__init__()
        self.answers = answers
        self.requests: list[bytes] = []
        self.protocols: list[str | None] = []
        """The protocol that each connection with TLS has agreed on."""
        self.connections = 0
        """Those that were opened."""
        self.ended = 0
        """Those that have ended."""
        self.port = 0
        self.drips = False
        """Whether each byte of an answer is a write of its own."""
        self.holds = False
        """Whether a connection stays open after an answer until the client closes it."""
        self.reads_heads = False
        """Whether only the heads of requests are read."""
        self.gate: asyncio.Event | None = None
        """What a connection waits for before it answers."""

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        """Yield the port."""
        async with self.listening(tls) as self.port:
            yield self.port

    def close_connections(self, last: bytes = b"") -> None:
        """Send bytes on all open connections and end them, all before the event loop runs."""
        for writer in self._open:
            with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as copy:
                copy.send(last)
                copy.shutdown(socket.SHUT_WR)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        tls = writer.get_extra_info("ssl_object")
        self.protocols += [] if tls is None else [tls.selected_alpn_protocol()]
        try:
            await self._answer(reader, writer)
        finally:
            self.ended += 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while self.answers and (request := await self._request(reader)):
            self.requests.append(request)
            answer = self.answers.pop(0)
            if self.gate is not None:
                await self.gate.wait()
            for piece in (answer[at : at + 1] for at in range(len(answer))) if self.drips else (answer,):
                writer.write(piece)
                await writer.drain()
            if self.holds:
                await reader.read()
            elif not answer:
                return

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        """Return a request, b"" at the end of the connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, length = head.partition(b"Content-Length: ")
            size = 0 if self.reads_heads else int(length.partition(b"\r\n")[0] or 0)
            return head + await reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return b""


class Proxy(_Listening):
    """An HTTP proxy that tunnels CONNECT, answers other requests itself, and records both with their Proxy-Authorization."""

    def __init__(self, *, accepts: bool = True) -> None:
        super().__init__()
        self._accepts = accepts
        self.requests: list[tuple[str, str]] = []

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        """Yield the address."""
        async with self.listening(tls) as port:
            yield f"127.0.0.1:{port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(field.split(": ", 1) for field in fields if field)
        method, target, _ = line.split()
        self.requests.append((f"{method} {target}", headers.get("Proxy-Authorization", "")))
        if method == "CONNECT" and self._accepts:
            host, port = target.split(":")
            remote, remote_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(_copy(reader, remote_writer), _copy(remote, writer))
        elif self._accepts:
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{"a": 1}')
        else:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def server_tls(pair: KeyPair) -> ssl.SSLContext:
    """Return the context of a server with a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    return context
