"""Watch events as the store has rendered them, for all watchers at once."""

from __future__ import annotations

from collections.abc import Sequence

from apiext.endpoints.responsewriters.response import Piece
from apiext.storage.interface import Event


class PlainLines:
    """The lines as the store has rendered them; a batch that many watchers share is put together once."""

    __slots__ = ("_batch", "_piece")

    def __init__(self) -> None:
        self._batch: Sequence[Event] = ()
        self._piece = Piece(b"")

    def __call__(self, events: Sequence[Event]) -> Piece:
        """The events' lines."""
        if events is not self._batch:
            self._batch, self._piece = events, Piece(b"".join([event.line for event in events]))
        return self._piece
