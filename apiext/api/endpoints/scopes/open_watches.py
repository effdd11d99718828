"""Open watches, which end together when their definition or the server ends."""

from __future__ import annotations

import asyncio
import math
import random
from typing import Final

from apiext.api.endpoints.responsewriters.event_encoder import SharedEncoder
from apiext.base.meta.errors import StatusError, too_many_requests
from apiext.storage.interface import Watch

MIN_SECONDS: Final = 1800.0
"""The default of --min-request-timeout."""
_STEP_SECONDS: Final = 0.04
"""Seconds in which `end` ends one watch, or as many as it has to."""
_RETRY_AFTER: Final = 1
"""Seconds after which the client of a refused watch asks again, on another connection."""


class Watches:
    """Open watches of one endpoint, one definition or the whole server. `close` ends all of them and later ones.

    A server that shuts down refuses new watches (`drain`) before it ends the others (`end`): an informer lists again after a
    watch of less than a second without an event, but not after a 429.

    `parent` contains every watch too. `min_seconds` is the least duration of a watch without timeoutSeconds; with `compresses`, watches
    that begin with a list are compressed for clients that accept it.
    """

    __slots__ = ("_draining", "_error", "_open", "_parent", "closed", "compresses", "encoder", "min_seconds")

    def __init__(self, parent: Watches | None = None, *, min_seconds: float = MIN_SECONDS, compresses: bool = True) -> None:
        self._open: set[Watch] = set()
        self._parent = parent
        self.encoder = SharedEncoder()
        self.min_seconds: float = parent.min_seconds if parent is not None else min_seconds
        self.compresses: bool = parent.compresses if parent is not None else compresses
        self.closed = False
        self._draining = False
        self._error: StatusError | None = None

    def seconds(self, requested: int | None) -> float:
        """Return the duration of a watch in seconds: the requested one, else a random one between the minimum and its double."""
        if requested is not None and requested > 0:
            return float(requested)
        return self.min_seconds * (1 + random.random())  # noqa: S311 -- spreads load, no secret

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: Watch) -> None:
        """Add an open watch. Close it at once after `close`.

        Raises:
            StatusError: 429 after `drain`.
        """
        if self._draining:
            raise too_many_requests("The apiserver is shutting down, please try again later.", _RETRY_AFTER)
        if self._parent is not None:
            self._parent.add(watch)
        if self.closed:
            watch.close()
            return
        self._open.add(watch)
        if self._error is not None:
            watch.fail(self._error)

    def refuse(self, error: StatusError | None) -> None:
        """End all watches and later ones with an ERROR event; None accepts later ones again."""
        self._error = error
        if error is not None:
            for watch in tuple(self._open):
                watch.fail(error)

    def discard(self, watch: Watch) -> None:
        """Remove a watch that has ended."""
        self._open.discard(watch)
        if self._parent is not None:
            self._parent.discard(watch)

    def drain(self) -> None:
        """Refuse later watches."""
        self._draining = True

    async def end(self, seconds: float) -> None:
        """End all watches, 25 a second, or more of them to need no more than `seconds`."""
        self.drain()
        ending = tuple(self._open)
        share = math.ceil(len(ending) * _STEP_SECONDS / seconds) if seconds else len(ending)
        for first in range(0, len(ending), share or 1):
            if first:
                await asyncio.sleep(_STEP_SECONDS)
            for watch in ending[first : first + share]:
                watch.close()

    def close(self) -> None:
        """End all watches."""
        self.closed = True
        for watch in tuple(self._open):
            watch.close()
            self.discard(watch)
