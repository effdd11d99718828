"""What the transport of a connection tells: bytes that nobody has read, a client that does not receive or sends no request."""

from __future__ import annotations

import asyncio
import math
import select
from typing import Final, Protocol

IDLE_TIMEOUT: Final = 180.0
"""Seconds after which an idle connection is closed; as kube-apiserver. Clients close theirs earlier, which loses no request."""
LINGER_SECONDS: Final = 0.5
"""Seconds from an answer to the end of the connection while the client may still send; Go's rstAvoidanceDelay."""
STALL_SECONDS: Final = 60.0
"""Seconds without progress after which the connection of a client that does not receive its answer is closed."""


def has_unread(transport: asyncio.BaseTransport | None) -> bool:
    """Return whether the kernel holds received bytes that the event loop has not read."""
    if transport is None or transport.is_closing():
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


class ProgressWatch:
    """Watches a client that receives slower than the server sends."""

    __slots__ = ("_timer",)

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        """Close the connection once the client receives nothing for STALL_SECONDS, until `stop`."""
        self._look(transport, math.inf)

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, transport: asyncio.Transport, unsent: float) -> None:
        """Close the connection if the client has received nothing since there were so many bytes to send; else look again later."""
        now_unsent = transport.get_write_buffer_size()
        if now_unsent >= unsent:
            transport.abort()
        else:
            self._timer = asyncio.get_running_loop().call_later(STALL_SECONDS, self._look, transport, now_unsent)


class IdleConnection(Protocol):
    """A connection that may be closed while it has no request."""

    @property
    def awaits_request(self) -> bool:
        """Return whether every request is answered."""

    def force_close(self) -> None:
        """Close the connection."""


class IdleWatch:
    """Closes a connection that has had no request for IDLE_TIMEOUT."""

    __slots__ = ("_since", "_timer")

    def __init__(self) -> None:
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop, connection: IdleConnection) -> None:
        """Count the time of a connection without requests from now on, until `stop`. The timer goes on while there are some."""
        self._since = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(IDLE_TIMEOUT, self._look, loop, connection)

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop, connection: IdleConnection) -> None:
        self._timer = None
        if not connection.awaits_request:
            return
        left = self._since + IDLE_TIMEOUT - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._look, loop, connection)
        else:
            connection.force_close()
