"""The connections that have not authenticated a request: a bounded number, of which the longest waiting one makes room for a new one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.request import USER
from apiext.base.meta.limits import MAX_UNAUTHENTICATED_CONNECTIONS
from apiext.base.meta.request import UNAUTHENTICATED
from apiext.server.process_resources import share_of_open_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

PATIENCE_SECONDS: Final = 0.25
"""Seconds that a client has for its next message, even when there is no room: several round trips of an honest client."""
_SHARE: Final = 4
"""One in so many of the process's descriptors is for them at most: files, processes and other clients need the others."""


def is_authenticated(request: web.BaseRequest) -> bool:
    """Return whether the client of a request has authenticated."""
    user = request.get(USER)
    return user is not None and UNAUTHENTICATED not in user.groups


class UnauthenticatedConnection:
    """A connection from its acceptance until it authenticates a request or is closed."""

    __slots__ = ("_all", "close")

    def __init__(self, others: UnauthenticatedConnections, close: Callable[[], None]) -> None:
        self._all = others
        self.close = close
        """Closes the connection; replaced when the connection becomes another object."""

    def await_server(self) -> None:
        """Protect the connection from being closed while the server keeps the client waiting."""
        self._all.waiting.pop(self, None)

    def await_client(self, close: Callable[[], None]) -> None:
        """Count the time from now on until the client authenticates a request."""
        self.close = close
        self._all.waiting.pop(self, None)
        self._all.waiting[self] = asyncio.get_running_loop().time()

    def leave(self) -> None:
        """Forget the connection, which authenticated a request or is closed."""
        self._all.waiting.pop(self, None)
        self._all.members.discard(self)
        # it may refer to the connection
        self.close = _do_nothing
        self._all.on_leave()


def _do_nothing() -> None:
    """Stand in for a function that is not needed."""


class UnauthenticatedConnections:
    """All connections of a server that have not authenticated a request."""

    def __init__(self) -> None:
        self.members: set[UnauthenticatedConnection] = set()
        self.waiting: dict[UnauthenticatedConnection, float] = {}
        """The connections that wait for their clients, with the time since when, the longest waiting one first."""
        self.processes = 1
        """Processes that share the maximum of members."""
        self._affordable = share_of_open_files(_SHARE)
        """The maximum of members for which the process has descriptors."""
        self.on_leave: Callable[[], None] = _do_nothing
        """Called when a connection has left."""

    def add(self, close: Callable[[], None]) -> UnauthenticatedConnection:
        """Add a connection that waits for its client."""
        added = UnauthenticatedConnection(self, close)
        self.members.add(added)
        added.await_client(close)
        return added

    @property
    def has_room(self) -> bool:
        """Report whether a new connection fits beside the others."""
        return len(self.members) < min(MAX_UNAUTHENTICATED_CONNECTIONS // self.processes, self._affordable)

    def make_room(self) -> bool:
        """Close the longest waiting connections, each after PATIENCE_SECONDS, until a new one has room. Return whether it has."""
        while not self.has_room:
            longest = next(iter(self.waiting.items()), None)
            if longest is None or asyncio.get_running_loop().time() - longest[1] < PATIENCE_SECONDS:
                return False
            close = longest[0].close
            longest[0].leave()
            close()
        return True
