"""A TCP load balancer before the replicas of a server: it forwards connections to ready servers, as kube-proxy does.

A server that answers its probe with an error, or does not listen, gets no more connections at once, like a terminating Pod. A server
that only answers late, on a busy machine, stays ready for a while, as with the readiness probe of the manifests.
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import Final, Protocol, Self

from hack.lib.servers.listeners import Listener, Listeners
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


class Balancer(Listeners):
    """Forwards TCP connections from `port` to ready servers in turn; open connections stay with their server."""

    def __init__(self, servers: Sequence[Replica], port: int | None = None) -> None:
        super().__init__()
        self._front = Listener(self._forward, port or free_port())
        self.port = self._front.port
        self.url = f"https://127.0.0.1:{self.port}"
        self._servers = list(servers)
        self._ready: list[Replica] = []
        self._turn = 0
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        """Start forwarding."""
        super().__enter__()
        self.start(self._front)
        self._probes = [asyncio.run_coroutine_threadsafe(self._probe(server), self._loop) for server in self._servers]
        return self

    def __exit__(self, *exc: object) -> None:
        for probe in self._probes:
            probe.cancel()
        super().__exit__(*exc)

    def wait(self, *servers: Replica, timeout: float = 60) -> None:
        """Wait until exactly these servers get connections."""
        with self._changed:
            assert self._changed.wait_for(lambda: set(self._ready) == set(servers), timeout), [server.port for server in self._ready]

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
        if not self._ready:
            return

        async def join(from_server: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
            await asyncio.gather(_pump(reader, to_server), _pump(from_server, writer))

        await self._front.connect(self._ready[self._turn % len(self._ready)].port, join)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes and the end of the stream.

    Raises:
        OSError: One side closed its connection.
    """
    while data := await reader.read(_BLOCK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
