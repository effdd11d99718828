"""The watches that are open, so that they can be ended together."""

from __future__ import annotations

import random
from typing import Final

from apiext.endpoints.responsewriters.watch_lines import PlainLines
from apiext.meta.errors import StatusError
from apiext.storage.interface import Watch

MIN_SECONDS: Final = 1800.0


class Watches:
    """Open watches of one endpoint, one definition or the whole server; closing ends them all, present and to come.

    `parent` is told of every watch too. `min_seconds` is how long a watch runs at least when its client does not say.
    """

    __slots__ = ("_open", "_parent", "_refusal", "closed", "lines", "min_seconds")

    def __init__(self, parent: Watches | None = None, *, min_seconds: float = MIN_SECONDS) -> None:
        self._open: set[Watch] = set()
        self._parent = parent
        self.lines = PlainLines()
        self.min_seconds: float = parent.min_seconds if parent is not None else min_seconds
        self.closed = False
        self._refusal: StatusError | None = None

    def seconds(self, asked: int | None) -> float:
        """How long a watch is to run: what the client asks for, else a time between the least one and twice as long."""
        if asked is not None and asked > 0:
            return float(asked)
        return self.min_seconds * (1 + random.random())  # noqa: S311 -- spreads load, guards nothing

    def __len__(self) -> int:
        return len(self._open)

    def add(self, watch: Watch) -> None:
        """Take in a watch that has been opened; it is closed at once when the time to serve is over."""
        if self.closed:
            watch.close()
            return
        self._open.add(watch)
        if self._parent is not None:
            self._parent.add(watch)
        if self._refusal is not None:
            watch.fail(self._refusal)

    def refuse(self, error: StatusError | None) -> None:
        """End all of them, and those to come, with a Status; None lets them run again from now on."""
        self._refusal = error
        if error is not None:
            for watch in tuple(self._open):
                watch.fail(error)

    def discard(self, watch: Watch) -> None:
        """Forget a watch that has ended."""
        self._open.discard(watch)
        if self._parent is not None:
            self._parent.discard(watch)

    def close(self) -> None:
        """End all of them."""
        self.closed = True
        for watch in tuple(self._open):
            watch.close()
            self.discard(watch)
