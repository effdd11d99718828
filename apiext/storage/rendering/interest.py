"""The interest of a watcher: which changes it sees, and as which events.

Shard stats: apiserver pkg/storage/cacher/metrics.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiext.storage import keys
from apiext.storage.errors import CorruptObjectError, UnknownPastError
from apiext.storage.interface import EVERYTHING, Codec, Event, EventType, Selection
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView


@dataclass(slots=True, eq=False)
class ShardStats:
    """The counts of one resource."""

    watches: int = 0
    """Open watches with a shard selector."""
    is_used: bool = False
    """Whether there has been such a watch."""
    filtered: int = 0
    """States of objects, before and after changes, that a shard selector kept from a watch."""


class Interest:
    """What a watcher selects: a scope of keys, a selection, a version, and the revisions after a start."""

    __slots__ = ("_all", "_stats", "after", "codec", "identity", "scope", "selection", "view")

    def __init__(
        self, *, view: VersionView, codec: Codec, scope: str, selection: Selection, after: int = 0, stats: ShardStats | None = None
    ) -> None:
        self.view = view
        self.codec = codec
        self.scope = scope
        self.selection = selection
        self.after = after
        self._stats = stats
        self._all = is_everything(selection)
        self.identity = (id(view), scope, *selection_key(selection), after)
        """Watchers with equal identities get equal events."""

    def covers(self, key: str) -> bool:
        """Report whether a key is in the scope."""
        return keys.covers(self.scope, key)

    def wants(self, entry: StoredEntry) -> bool:
        """Report whether an object is selected.

        Raises:
            CorruptObjectError: the object cannot be decoded.
        """
        if self._all:
            return True
        item, shard = self.view.item(entry), self.selection.shard
        if shard is not None and self._stats is not None and not shard.contains(item.shard_hash(shard)):
            self._stats.filtered += 1
            return False
        return self.selection.matches(item)

    def needed(self, change: ObjectChange) -> list[StoredEntry]:
        """Return the entries whose renderings `event` uses."""
        if change.revision <= self.after:
            return []
        found = [entry for entry in (change.entry, change.previous) if entry is not None]
        return found[:1] if self._all else found

    def event(self, change: ObjectChange) -> Event | None:
        """Return the watcher's event for a change in its scope, or None.

        An object that begins to match is ADDED, one that no longer matches is DELETED (apiserver cacher: convertToWatchEvent).

        Raises:
            CorruptObjectError: the object cannot be decoded; UnknownPastError if it is gone, or not selected now, and may have been seen.
        """
        if change.revision <= self.after:
            return None
        now = change.entry is not None and self.wants(change.entry)
        try:
            before = change.previous is not None and self.wants(change.previous)
            if before and change.entry is None:
                return change.event(self.view, EventType.DELETED)
        except CorruptObjectError as error:
            if not now:
                raise UnknownPastError(error.key, error.message) from error
            before = False
        if now:
            # nobody has seen an unreadable object
            seen = before and change.previous not in self.view.failures
            return change.event(self.view, EventType.MODIFIED if seen else EventType.ADDED)
        return change.event(self.view, EventType.DELETED) if before else None


def is_everything(selection: Selection) -> bool:
    """Report whether a selection selects all objects."""
    return selection is EVERYTHING or not selection.size


def equal_field(selection: Selection) -> tuple[str, str] | None:
    """Return the first selectable field of the CRD whose value the selection requires, and the value; None if there is none."""
    if selection.fields is None:
        return None
    return next((one for one in selection.fields.required.items() if not one[0].startswith("metadata.")), None)


def selection_key(selection: Selection) -> tuple[str, str, str]:
    """Return the text of a selection; selections with equal texts select the same objects."""
    labels, fields, shard = selection.labels, selection.fields, selection.shard
    return labels.text if labels is not None else "", fields.text if fields is not None else "", shard.text if shard is not None else ""
