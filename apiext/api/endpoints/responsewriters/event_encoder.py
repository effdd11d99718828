"""Watch events as their stored JSON lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from apiext.api.endpoints.responsewriters.response import Piece
from apiext.storage.interface import Event

_EVENTS_PER_PIECE: Final = 16
_SHARED_SECONDS: Final = 1.0
"""Seconds after which a joined batch is made anew for a late watcher; it may have 256 KiB."""


class EventEncoder:
    """Encodes each event as its stored JSON line. Other encodings override `line`."""

    __slots__ = ()
    is_slow: bool = False
    """Whether to await `ready` before events are encoded."""

    async def ready(self, events: Sequence[Event] = ()) -> None:
        """Prepare what takes long, in slices; otherwise first use does this."""

    def pieces(self, events: Sequence[Event]) -> Iterator[Piece]:
        """Encode a batch of events in pieces. Other tasks may run between pieces. Raises the errors of `line`."""
        for first in range(0, len(events), _EVENTS_PER_PIECE):
            yield Piece(b"".join(map(self.framed, events[first : first + _EVENTS_PER_PIECE])))

    def framed(self, event: Event) -> bytes:
        """Encode one event as a part of a stream."""
        return self.line(event)

    def line(self, event: Event) -> bytes:
        """Encode one event."""
        return event.line


class SharedEncoder(EventEncoder):
    """Joins the lines of a batch once for all its watchers."""

    __slots__ = ("_batch", "_piece")

    def __init__(self) -> None:
        self._batch: Sequence[Event] = ()
        self._piece = Piece(b"")

    def pieces(self, events: Sequence[Event]) -> Iterator[Piece]:
        """Yield the JSON lines of events as one piece."""
        if events is not self._batch:
            if not self._batch:
                asyncio.get_running_loop().call_later(_SHARED_SECONDS, self._forget)
            self._batch, self._piece = events, Piece(b"".join([event.line for event in events]))
        yield self._piece

    def _forget(self) -> None:
        self._batch, self._piece = (), Piece(b"")
