"""Tests of the totals of stored objects."""

from apiext.base.meta.steps import at_once
from apiext.storage.cacher.watch_cache import StoredTotals
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry

ONE, OTHER = b'{"apiVersion":"a/v1"}\n', b'{"apiVersion":"a/v2","kind":"B"}\n'


def test_counts_what_is_stored() -> None:
    """Count entries by apiVersion and the bytes of all, over changes until nothing is left."""
    first, second = StoredEntry("a", 1, ONE), StoredEntry("b", 2, ONE)
    totals = at_once(StoredTotals.steps([first, second]))
    assert (totals.api_versions, totals.stored_bytes) == ({"a/v1": 2}, 2 * len(ONE))

    updated = StoredEntry("a", 3, OTHER)
    totals.apply(ObjectChange(key="a", revision=3, entry=updated, previous=first))
    assert (totals.api_versions, totals.stored_bytes) == ({"a/v1": 1, "a/v2": 1}, len(ONE) + len(OTHER))

    totals.apply(ObjectChange(key="c", revision=4, entry=StoredEntry("c", 4, OTHER), previous=None))
    assert totals.api_versions == {"a/v1": 1, "a/v2": 2}

    for key, gone in (("a", updated), ("b", second), ("c", StoredEntry("c", 4, OTHER))):
        totals.apply(ObjectChange(key=key, revision=5, entry=None, previous=gone))
    assert (totals.api_versions, totals.stored_bytes) == ({}, 0)
