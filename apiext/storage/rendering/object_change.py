"""A change of one object, and its events, each rendered once for all watchers."""

from __future__ import annotations

from dataclasses import dataclass, field

from apiext.storage.interface import Event, EventType, Item
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView


@dataclass(slots=True, kw_only=True, eq=False)
class ObjectChange:
    """The new entry (None: deleted) and the previous one (None: created) of an object, at the revision of the change."""

    key: str
    revision: int
    entry: StoredEntry | None
    previous: StoredEntry | None
    _events: dict[tuple[VersionView, EventType], Event] | None = field(default=None, init=False)
    """None while there are none: a history keeps many changes."""

    @property
    def size(self) -> int:
        """Return the approximate bytes that the change keeps in a history: those of the new or, if deleted, the last state."""
        state = self.entry or self.previous
        return state.size if state is not None else 0

    def event(self, view: VersionView, type_: EventType) -> Event:
        """Return the event of a type in a view; render it once.

        Raises:
            CorruptObjectError: the object cannot be decoded.
        """
        if self._events is None:
            self._events = {}
        event = self._events.get((view, type_))
        if event is None:
            event = self._events[view, type_] = event_lines.event(type_, self._subject(view, type_))
        return event

    def _subject(self, view: VersionView, type_: EventType) -> Item:
        """Return the object of the event; for DELETED, the last state at the revision of the change."""
        if type_ is EventType.DELETED and self.previous is not None:
            return view.at(self.previous, self.revision)
        if self.entry is None:
            raise AssertionError("a change has something before or after it")
        return view.item(self.entry)

    def drop_events(self) -> None:
        """Drop the event lines. After dispatch, only the queues of slow watchers hold them."""
        self._events = None
