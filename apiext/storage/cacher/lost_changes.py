"""Derives the changes between two states of a cache after the store has compacted them."""

from __future__ import annotations

from collections.abc import Mapping

from apiext.base.scheduling.time_slice import paced
from apiext.storage import stored_object
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry


async def derive(before: Mapping[str, StoredEntry], first: int, after: Mapping[str, StoredEntry], last: int) -> list[ObjectChange]:
    """Return the changes from the state at one revision to that at a later one: the deletions, then the others by revision.

    The true revisions of deletions are lost. Deletions get the revision `first`: a client that resumes from it misses nothing. This
    server then answers 410 and the client lists again; another server sends the true changes. A later revision would hide changes
    from the client, except at the end of all changes.
    """
    deleted: list[ObjectChange] = []
    changed: list[ObjectChange] = []
    async for key, entry in paced(before.items(), urgent=True):
        now = after.get(key)
        if now is not None and now.revision == entry.revision:
            continue
        if now is not None and _uid(now) == _uid(entry):
            changed.append(ObjectChange(key=key, revision=now.revision, entry=now, previous=entry))
            continue
        deleted.append(ObjectChange(key=key, revision=first, entry=None, previous=entry))
        if now is not None:
            changed.append(ObjectChange(key=key, revision=now.revision, entry=now, previous=None))
    changed += [
        ObjectChange(key=key, revision=entry.revision, entry=entry, previous=None) for key, entry in after.items() if key not in before
    ]
    if deleted and not changed:
        deleted[-1].revision = last
    changed.sort(key=lambda change: change.revision)
    return deleted + changed


def _uid(entry: StoredEntry) -> object:
    """Return the uid of an object, None if it cannot be read."""
    try:
        return stored_object.loads(entry.raw)["metadata"].get("uid")
    except (CorruptObjectError, ValueError, KeyError):
        return None
