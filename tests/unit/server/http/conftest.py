"""An HTTP server on a plain socket, and raw connections to it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest_asyncio
from aiohttp import web

from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import AbortedResponse, Reply
from apiext.base.meta.request import AUTHENTICATED, UserInfo
from apiext.base.meta.steps import Steps
from apiext.base.scheduling.time_slice import in_slices
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.connection import HTTPConnection
from apiext.server.http.server import HTTPServer, listen
from apiext.server.tls.dynamic_tls import DynamicTLS
from tests.support.event_loop import until


class _NoTLS:
    """Replaces the TLS settings where no connection uses TLS."""

    def subscribe(self, on_change: object) -> None:
        """Accept a subscriber."""


def _task_name() -> str:
    """Return the name of the current task."""
    task = asyncio.current_task()
    assert task is not None
    return task.get_name()


@dataclass
class Wire:
    """A connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes) -> None:
        """Send pieces one after the other. The server may receive several at once."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def rest(self) -> bytes:
        """Return what the server sends until it closes the connection."""
        return await self.reader.read()

    async def answer(self) -> tuple[bytes, bytes]:
        """Return the status line and the body of one answer."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        return head.partition(b"\r\n")[0], await self.reader.readexactly(length)


@dataclass
class Plain:
    """An HTTP server whose handler answers with the request's method, path and body."""

    server: HTTPServer
    listener: socket.socket
    seen: list[str] = field(default_factory=list)
    """The paths of requests that reached the handler."""
    tasks: list[str] = field(default_factory=list)
    """The names of the tasks of these requests: the tasks themselves would keep their connections."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """What requests for /wait wait for."""
    steps: int = 0
    """The steps of the work of requests for /work so far, which has no end."""
    large: bytes = b""
    """The body of answers to /large."""
    broken: list[str] = field(default_factory=list)
    """The errors of bodies that could not be read."""
    wires: list[Wire] = field(default_factory=list)
    """All connections; the fixture closes them."""

    async def connect(self, *, buffer: int | None = None) -> Wire:
        """Open a connection. `buffer` is how much the kernel receives ahead of the client, by default as it decides: up to 32 MB."""
        client = socket.socket()
        client.setblocking(False)
        if buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        await asyncio.get_running_loop().sock_connect(client, self.listener.getsockname())
        self.wires.append(Wire(*await asyncio.open_connection(sock=client)))
        return self.wires[-1]

    def task(self) -> asyncio.Task[Any]:
        """Return the task of the latest request, which has not ended."""
        (task,) = (task for task in asyncio.all_tasks() if task.get_name() == self.tasks[-1])
        return task

    async def connection(self) -> HTTPConnection:
        """Return the server's side of the only connection, once it is open."""
        await until(lambda: self.server.connections)
        (connection,) = self.server.connections
        return cast("HTTPConnection", connection)


@pytest_asyncio.fixture
async def plain() -> AsyncIterator[Plain]:
    """Return a running server."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        state.seen.append(request.path)
        state.tasks.append(_task_name())
        if request.path == "/fails":
            raise ZeroDivisionError("a secret of the server")
        if request.path == "/aborted":
            return AbortedResponse()
        if "/ann" in request.path:
            request[USER] = UserInfo("ann", groups=(AUTHENTICATED,))
        if request.path == "/refused":
            return Reply(b"refused", status=403)
        if request.path == "/work":
            await in_slices(work())
        if request.path == "/large":
            return Reply(state.large)
        try:
            body = await request.read()
        except web.RequestPayloadError as error:
            state.broken.append(str(error))
            return web.Response(status=400, text="broken body")
        if request.path.startswith("/wait"):
            await state.gate.wait()
        return web.Response(body=f"{request.method} {request.rel_url.raw_path} ".encode() + body)

    def work() -> Steps[None]:
        while True:
            state.steps += 1
            yield

    state = Plain(HTTPServer(handle, cast("DynamicTLS", _NoTLS())), listen("127.0.0.1", 0))
    acceptor = Acceptor(state.listener, state.server, None)
    yield state
    for wire in state.wires:
        wire.writer.close()
    acceptor.close()
    await state.server.shutdown(1)


@pytest_asyncio.fixture
async def wire(plain: Plain) -> Wire:
    """Return a client's connection to the server."""
    return await plain.connect()
