"""Connections that wait for further requests.

Dialing: Go's net/http Transport.dialConn.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.webhook.http1.connection import KeptConnection
from apiext.base.webhook.http1.destination import connect
from apiext.base.webhook.http1.failures import CallFailedError

if TYPE_CHECKING:
    import ssl

    from apiext.base.webhook.http1.answer import HttpAnswer
    from apiext.base.webhook.http1.destination import Destination

_IDLE_SECONDS: Final = 90.0
"""Seconds that an idle connection stays open, as in Go."""
CLOSE_SECONDS: Final = 1.0
"""Seconds for servers to take the end of TLS."""


async def dial(destination: Destination, limit: int) -> KeptConnection:
    """Return a new connection to a destination, for answers with a limit of bytes.

    Raises:
        CallFailedError: there is none.
    """
    loop = asyncio.get_running_loop()
    if destination.proxy is not None:
        from apiext.base.webhook.http1.tunnel import dial_through

        return await dial_through(destination.proxy, destination, limit)
    return await connect(destination, lambda: KeptConnection(loop, limit))


class PoolClosedError(CallFailedError):
    """The pool was closed."""


class ConnectionPool:
    """Sends requests on kept connections, or on new ones. Each destination has as many as its requests at the same time."""

    def __init__(self, limit: int) -> None:
        """Make a pool without connections for the running event loop. `limit` is that of an answer's bytes."""
        self._limit = limit
        # getting the current one is a system call each time
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Destination, list[KeptConnection]] = {}
        """The connection used last is at the end."""
        self._busy: dict[KeptConnection, Destination] = {}
        self._forgotten = 0
        """How often connections have been forgotten."""
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    def deadline(self, seconds: float) -> float:
        """Return the event loop's time in some seconds."""
        return self._loop.time() + seconds

    async def exchange(self, destination: Destination, request: bytes, deadline: float) -> HttpAnswer:
        """Return the answer to a request. The deadline is a time of the event loop.

        A request is sent once: the server of a kept connection that ends without an answer may have handled it.

        Raises:
            CallFailedError: there is no answer.
            TimeoutError: not in time.
            BodyError: the answer has no end.
        """
        connection = self._kept(destination)
        if connection is None:
            forgotten = self._forgotten
            async with asyncio.timeout_at(deadline):
                connection = await dial(destination, self._limit)
            if forgotten != self._forgotten:
                connection.retire()
        if self._closed:
            connection.abort()
            raise PoolClosedError
        self._busy[connection] = destination
        try:
            answer = await connection.exchange(request, deadline)
        finally:
            del self._busy[connection]
        if connection.is_reusable and not self._closed:
            self._keep(destination, connection)
        else:
            connection.close()
        return answer

    def _kept(self, destination: Destination) -> KeptConnection | None:
        idle = self._idle.get(destination)
        while idle:
            connection = idle.pop()
            if connection.is_fresh:
                return connection
            connection.close()
        return None

    def _keep(self, destination: Destination, connection: KeptConnection) -> None:
        connection.idle_since = self._loop.time()
        self._idle.setdefault(destination, []).append(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(_IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close the connections that have been idle for long."""
        oldest = self._loop.time() - _IDLE_SECONDS
        for destination, idle in list(self._idle.items()):
            # the one used last is at the end
            while idle and (idle[0].idle_since <= oldest or not idle[0].is_reusable):
                idle.pop(0).close()
            if not idle:
                del self._idle[destination]
        self._sweeper = self._loop.call_later(_IDLE_SECONDS / 2, self._sweep) if self._idle else None

    def forget(self, context: ssl.SSLContext | None) -> None:
        """Close the connections that were made with a context, those in use after their answers."""
        self._forgotten += 1
        for connection, destination in self._busy.items():
            if destination.context is context:
                connection.retire()
        for destination in [found for found in self._idle if found.context is context]:
            for connection in self._idle.pop(destination):
                connection.close()

    async def close(self) -> None:
        """Close all connections; running and later calls fail."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        idle = [connection for found in self._idle.values() for connection in found]
        self._idle.clear()
        for connection in self._busy:
            connection.abort()
        for connection in idle:
            connection.close()
        if idle:
            await asyncio.wait([connection.lost for connection in idle], timeout=CLOSE_SECONDS)
        for connection in idle:
            connection.abort()
