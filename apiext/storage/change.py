"""One change of one object, and what it means to those who watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta.selectors import Operator
from apiext.storage import keys, rendering
from apiext.storage.interface import EVERYTHING, EventType

if TYPE_CHECKING:
    from apiext.storage.entry import Entry
    from apiext.storage.interface import Codec, Event, Item, Selection
    from apiext.storage.view import View


class Change:
    """What an object became (None: deleted) and what it was (None: created), at the revision of the change."""

    __slots__ = ("_events", "entry", "key", "previous", "revision")

    def __init__(self, *, key: str, revision: int, entry: Entry | None, previous: Entry | None) -> None:
        self.key = key
        self.revision = revision
        self.entry = entry
        self.previous = previous
        self._events: dict[tuple[View, EventType], Event] | None = None

    @property
    def size(self) -> int:
        """About the bytes that the change itself adds to a history."""
        return self.entry.size if self.entry is not None else 0

    def event(self, view: View, type_: EventType) -> Event:
        """The event of a type in a view, made once; raises CorruptObjectError."""
        if self._events is None:
            self._events = {}
        event = self._events.get((view, type_))
        if event is None:
            event = self._events[view, type_] = rendering.event(type_, self._subject(view, type_))
        return event

    def _subject(self, view: View, type_: EventType) -> Item:
        """What the event shows; what is gone from a watcher's sight is shown as it last was, at the revision of its going."""
        if type_ is EventType.DELETED and self.previous is not None:
            return self.previous.at(view, self.revision)
        if self.entry is None:
            raise AssertionError("a change has something before or after it")
        return self.entry.item(view)

    def settle(self) -> None:
        """Let the lines of events go: once they are handed out, only slow watchers still hold them."""
        self._events = None


class Interest:
    """What a watcher wants: a scope of keys, a selection, a version, and only what comes after a revision."""

    __slots__ = ("_all", "after", "codec", "identity", "scope", "selection", "view")

    def __init__(self, *, view: View, codec: Codec, scope: str, selection: Selection, after: int = 0) -> None:
        self.view = view
        self.codec = codec
        self.scope = scope
        self.selection = selection
        self.after = after
        self._all = is_everything(selection)
        self.identity = (id(view), scope, *selection_key(selection), after)
        """Watchers of equal identity get equal events."""

    def covers(self, key: str) -> bool:
        """Whether a key is in scope."""
        return keys.covers(self.scope, key)

    def wants(self, entry: Entry) -> bool:
        """Whether an object is selected; raises CorruptObjectError."""
        if self._all:
            return True
        item = entry.item(self.view)
        return self.selection.matches(item.labels, item.fields)

    def event(self, change: Change) -> Event | None:
        """What a change in scope means to the watcher; raises CorruptObjectError.

        An object that begins to match is ADDED, one that no longer does is DELETED (apiserver cacher: convertToWatchEvent).
        """
        if change.revision <= self.after:
            return None
        now = change.entry is not None and self.wants(change.entry)
        before = change.previous is not None and self.wants(change.previous)
        if now:
            return change.event(self.view, EventType.MODIFIED if before else EventType.ADDED)
        return change.event(self.view, EventType.DELETED) if before else None


def is_everything(selection: Selection) -> bool:
    """Whether a selection leaves nothing out."""
    return selection is EVERYTHING or (
        (selection.labels is None or selection.labels.empty) and (selection.fields is None or selection.fields.empty)
    )


def equal_field(selection: Selection) -> tuple[str, str] | None:
    """A field of the CRD's own that a selection asks to have a value; names and namespaces are found by keys."""
    if selection.fields is None:
        return None
    for requirement in selection.fields.requirements:
        if requirement.operator is Operator.EQUALS and not requirement.field.startswith("metadata."):
            return requirement.field, requirement.value
    return None


def selection_key(selection: Selection) -> tuple[str, str]:
    """A selection's text: equal for selections that select the same way."""
    return str(selection.labels or ""), str(selection.fields or "")
