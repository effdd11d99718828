"""A TCP load balancer before the replicas of a server: it forwards connections to ready servers, as kube-proxy does.

A server that answers its probe with an error, or does not listen, gets no more connections at once, like a terminating Pod. A server
that only answers late, on a busy machine, stays ready for a while, as with the readiness probe of the manifests.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, Final, Protocol, Self

from hack.lib.servers.process import free_port

_LOOK: Final = 0.1
"""Seconds between probes of a server."""
_MAX_SILENT: Final = 3
"""Probes in a row without an answer in time after which a server is unready: the default failureThreshold of Pods."""
_BLOCK: Final = 1 << 16


class Replica(Protocol):
    """A server on the loopback address."""

    port: int

    def ready(self) -> bool:
        """Report whether it is ready. Raises OSError if nothing listens, TimeoutError without an answer in time."""


class Balancer:
    """Forwards TCP connections from `port` to ready servers in turn; open connections stay with their server."""

    def __init__(self, servers: Sequence[Replica], port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._servers = list(servers)
        self._ready: list[Replica] = []
        self._turn = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        """Start forwarding."""
        self._thread.start()
        self._listener = self._run(asyncio.start_server(self._forward, "127.0.0.1", self.port))
        self._probes = [asyncio.run_coroutine_threadsafe(self._probe(server), self._loop) for server in self._servers]
        return self

    def __exit__(self, *_exc: object) -> None:
        for probe in self._probes:
            probe.cancel()
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def wait(self, *servers: Replica, timeout: float = 60) -> None:
        """Wait until exactly these servers get connections."""
        with self._changed:
            assert self._changed.wait_for(lambda: set(self._ready) == set(servers), timeout), [server.port for server in self._ready]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _close(self) -> None:
        self._listener.close()
        for writer in self._open:
            writer.transport.abort()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_default_executor()

    async def _probe(self, server: Replica) -> None:
        silent = 0
        while True:
            try:
                ready = await asyncio.to_thread(server.ready)
                silent = 0
            except TimeoutError:
                silent += 1
                ready = silent < _MAX_SILENT and server in self._ready
            except OSError:
                ready = False
            with self._changed:
                if ready != (server in self._ready):
                    self._ready.append(server) if ready else self._ready.remove(server)
                    self._changed.notify_all()
            await asyncio.sleep(_LOOK)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client to a server; close its connection if no server is ready."""
        self._turn += 1
        self._open.add(writer)
        try:
            if self._ready:
                await self._join(self._ready[self._turn % len(self._ready)], reader, writer)
        except OSError:
            pass  # One side closed its connection, so close the other one.
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _join(self, server: Replica, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", server.port)
        self._open.add(to_server)
        try:
            await asyncio.gather(_pump(reader, to_server), _pump(from_server, writer))
        finally:
            self._open.discard(to_server)
            to_server.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes and the end of the stream.

    Raises:
        OSError: One side closed its connection.
    """
    while data := await reader.read(_BLOCK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
