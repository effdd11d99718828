"""Watch events as the JSON lines that are stored with them."""

from __future__ import annotations

from collections.abc import Sequence

from apiext.endpoints.responsewriters.response import Piece
from apiext.storage.interface import Event


class EventEncoder:
    """Encodes each event as its stored JSON line. Other encodings override `line`."""

    __slots__ = ()

    def __call__(self, events: Sequence[Event]) -> Piece:
        """Encode a batch of events. Raises what `line` raises."""
        return Piece(b"".join(map(self.line, events)))

    def line(self, event: Event) -> bytes:
        """Encode one event."""
        return event.line


class SharedEncoder(EventEncoder):
    """Joins the lines of a batch once for all its watchers."""

    __slots__ = ("_batch", "_piece")

    def __init__(self) -> None:
        self._batch: Sequence[Event] = ()
        self._piece = Piece(b"")

    def __call__(self, events: Sequence[Event]) -> Piece:
        """Return the JSON lines of events."""
        if events is not self._batch:
            self._batch, self._piece = events, Piece(b"".join([event.line for event in events]))
        return self._piece
