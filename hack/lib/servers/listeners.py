"""TCP listeners in an event loop of their own, in a thread beside a test."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Self, TypeVar

T = TypeVar("T")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_PATIENCE: Final = 20
"""Seconds for work in the loop, and for its end."""
_LOOK: Final = 0.1
"""Seconds until connections to other servers that begin meanwhile are broken, too."""
_BACKLOG: Final = 1024
"""Connections that may wait for the event loop."""


class Listener:
    """Accepts connections at a port of the loopback address, and breaks each at the end of its handler; OSError ends one quietly."""

    def __init__(self, accept: Handler, port: int) -> None:
        self.port = port
        self._accept = accept
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Accept connections in the running event loop. asyncio's servers would lose those that come while they close."""
        self._socket = socket.create_server(("127.0.0.1", self.port), backlog=_BACKLOG)
        self._socket.settimeout(0)
        asyncio.get_running_loop().add_reader(self._socket, self._take)

    async def stop(self) -> None:
        """Accept no more connections, break all, and wait for their tasks; idempotent."""
        if self._socket.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
        while self._tasks:
            self.abort()
            await asyncio.wait(self._tasks, timeout=_LOOK)

    def abort(self) -> None:
        """Break all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def connect(self, port: int, handler: Handler) -> None:
        """Connect to a port of the loopback address while a function runs.

        Raises:
            OSError: Nothing listens there, or the connection breaks.
        """
        await self._during(handler, *await asyncio.open_connection("127.0.0.1", port))

    def _take(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            task = asyncio.ensure_future(self._handle(self._socket.accept()[0]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, accepted: socket.socket) -> None:
        # if one side closes its connection, the other one is closed
        with contextlib.suppress(OSError):
            await self._during(self._accept, *await asyncio.open_connection(sock=accepted))

    async def _during(self, handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            await handler(reader, writer)
        finally:
            self._open.discard(writer)
            writer.transport.abort()


class Listeners:
    """Runs listeners during a block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listeners: list[Listener] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns in the event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def start(self, listener: Listener) -> None:
        """Let a listener accept connections until the end of the block."""
        self._listeners.append(listener)
        self.run(_start(listener))

    async def _close(self) -> None:
        for listener in self._listeners:
            await listener.stop()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()


async def _start(listener: Listener) -> None:
    listener.start()
