"""Open watches, which end together when their definition or the server ends."""

from __future__ import annotations

import random
from typing import Final

from apiext.endpoints.responsewriters.event_encoder import SharedEncoder
from apiext.meta.errors import StatusError
from apiext.storage.interface import Watch

MIN_SECONDS: Final = 1800.0
"""The default of --min-request-timeout."""


class Watches:
    """Open watches of one endpoint, one definition or the whole server. `close` ends all of them and later ones.

    `parent` contains every watch too. `min_seconds` is the least duration of a watch without timeoutSeconds.
    """

    __slots__ = ("_error", "_open", "_parent", "closed", "encoder", "min_seconds")

    def __init__(self, parent: Watches | None = None, *, min_seconds: float = MIN_SECONDS) -> None:
        self._open: set[Watch] = set()
        self._parent = parent
        self.encoder = SharedEncoder()
        self.min_seconds: float = parent.min_seconds if parent is not None else min_seconds
        self.closed = False
        self._error: StatusError | None = None

    def seconds(self, requested: int | None) -> float:
        """Return the duration of a watch in seconds: the requested one, else a random one between the minimum and its double."""
        if requested is not None and requested > 0:
            return float(requested)
        return self.min_seconds * (1 + random.random())  # noqa: S311 -- spreads load, no secret

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: Watch) -> None:
        """Add an open watch. Close it at once after `close`."""
        if self.closed:
            watch.close()
            return
        self._open.add(watch)
        if self._parent is not None:
            self._parent.add(watch)
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

    def close(self) -> None:
        """End all watches."""
        self.closed = True
        for watch in tuple(self._open):
            watch.close()
            self.discard(watch)
