"""The history of a cache."""

import weakref

import pytest

from apiext.base.meta.errors import StatusError
from apiext.storage.cacher import history as histories
from apiext.storage.cacher.history import KEPT_SECONDS, MIN_CHANGES, History
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry
from tests.support.event_loop import Clock


class Watched(StoredEntry):
    """An entry that a weak reference can watch."""


def changed(key: str, revision: int, size: int = 10) -> ObjectChange:
    """Return a change with an entry of a size."""
    return ObjectChange(key=key, revision=revision, entry=StoredEntry(key, revision, b"x" * size), previous=None)


def begun(at: int, *later: int, clock: Clock | None = None) -> History:
    """Return a history that begins at a revision, with later changes of one object."""
    history = History(clock=clock or Clock())
    history.begin(at)
    for revision in later:
        history.add(changed("a", revision))
    return history


def revisions(history: History, since: int) -> list[int]:
    """Return the revisions of the changes since one."""
    return [change.revision for change in history.since(since)]


def test_returns_changes_since_a_revision() -> None:
    """Return all changes after a revision, in order."""
    history = begun(10, 12, 14, 14, 19)
    assert revisions(history, 10) == [12, 14, 14, 19]
    assert revisions(history, 12) == [14, 14, 19]
    assert revisions(history, 13) == [14, 14, 19]
    assert revisions(history, 19) == revisions(history, 99) == []
    with pytest.raises(StatusError, match=r"^too old resource version: 9 \(10\)$") as caught:
        history.since(9)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


def test_limits_the_age() -> None:
    """Keep changes for 75 seconds, and always the latest hundred."""
    clock = Clock()
    history = begun(0, *range(1, 501), clock=clock)
    assert len(history) == 500
    clock.now += KEPT_SECONDS + 1
    history.trim()

    assert len(history) == MIN_CHANGES
    assert history.floor == 400
    assert revisions(history, 400) == list(range(401, 501))
    with pytest.raises(StatusError, match=r"too old resource version: 399 \(400\)"):
        history.since(399)


def test_limits_bytes_of_aged_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop aged changes, also of the latest hundred, until the rest is small; recent ones stay."""
    monkeypatch.setattr(histories, "MAX_AGED_BYTES", 25)
    clock = Clock()
    history = begun(0, *range(1, 6), clock=clock)
    clock.now += KEPT_SECONDS + 1
    history.add(changed("a", 6))
    history.trim()

    assert [change.revision for change in history.all()] == [5, 6]
    assert history.floor == 4

    history.add(changed("a", 7, size=100))
    history.trim()
    assert [change.revision for change in history.all()] == [6, 7]


def test_limits_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the bytes of changes, also of the latest hundred; the last state of a deleted object counts."""
    monkeypatch.setattr(histories, "MAX_BYTES", 200 * 10)
    history = begun(0, *range(1, 5001))

    assert len(history) == 200
    assert history.floor == 4800
    assert [change.revision for change in history.latest(3)] == [4998, 4999, 5000]
    assert len(history.all()) == 200

    gone = StoredEntry("b", 5000, b"x" * 1500)
    history.add(ObjectChange(key="b", revision=5001, entry=None, previous=gone))
    assert len(history) == 51


def test_prepends_the_past() -> None:
    """Return prepended changes before the others; they age from now on, and count for the limits."""
    clock = Clock()
    history = begun(1000, *range(1001, 1201), clock=clock)
    free = history.free
    clock.now += KEPT_SECONDS - 1
    history.prepend([changed("a", revision) for revision in range(901, 1001)], floor=900)
    assert revisions(history, 900) == list(range(901, 1201))
    assert (len(history), history.added, history.free) == (300, 200, free - 1000)

    clock.now += 2
    history.trim()
    assert len(history) == 300
    clock.now += KEPT_SECONDS
    history.trim()
    assert (len(history), history.added, history.floor) == (MIN_CHANGES, MIN_CHANGES, 1100)
    history.prepend([changed("a", revision) for revision in range(1051, 1101)], floor=1050)
    assert revisions(history, 1050) == list(range(1051, 1201))


def test_prepends_no_more_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the oldest prepended changes beyond the limit of bytes."""
    monkeypatch.setattr(histories, "MAX_BYTES", 50)
    history = begun(10, 11)
    history.prepend([changed("a", revision) for revision in range(5, 11)], floor=4)
    assert (history.floor, history.added, history.free) == (6, 1, 0)
    assert revisions(history, 6) == list(range(7, 12))


def test_releases_dropped_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold no object of a dropped change, even if few changes were dropped."""
    monkeypatch.setattr(histories, "MAX_BYTES", 100)
    history = begun(0)
    large = Watched("large", 1, b"x" * 1000)
    dropped = weakref.ref(large)
    history.add(ObjectChange(key="large", revision=1, entry=large, previous=None))
    del large
    history.add(changed("a", 2))

    assert dropped() is None
    assert revisions(history, 1) == [2]
