"""Recent changes, for resumed watches and for lists at a past revision.

Mirrors apiserver pkg/storage/cacher/watch_cache_history.go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from apiext.base.meta import errors
from apiext.base.scheduling.gradual_list import GradualList
from apiext.storage.rendering.object_change import ObjectChange

MIN_CHANGES: Final = 100
MAX_CHANGES: Final = 100 * 1024
MAX_BYTES: Final = 32 << 20
MAX_AGED_BYTES: Final = 4 << 20
"""Bytes of changes above which all older than KEPT_SECONDS are dropped, even the last MIN_CHANGES."""
KEPT_SECONDS: Final = 75.0
_COMPACT_AFTER_CHANGES: Final = 1024
_DROPPED_TOGETHER: Final = 32
"""Changes that are added until old ones are dropped."""
_DROPPED: Final = ObjectChange(key="", revision=0, entry=None, previous=None)
"""Stands in the place of a change that was dropped."""


class History:
    """Keeps changes for at least 75 s, a little longer than the bookmark interval, within a limit of bytes.

    The last hundred changes stay at any age, within a smaller limit.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changes: GradualList[ObjectChange] = GradualList()
        self._times: list[float] = []
        self._sizes: list[int] = []
        self._first = 0
        self._bytes = 0
        self._prepended = 0
        self.floor = 0
        """The history has every change after this revision."""
        self.sealed = 0
        """Nothing before this revision may be prepended."""

    def __len__(self) -> int:
        return len(self._changes) - self._first

    @property
    def added(self) -> int:
        """Return the number of changes from `add`: those of the cache's generations."""
        return len(self) - self._prepended

    @property
    def free(self) -> int:
        """Return the bytes of space for `prepend`."""
        return MAX_BYTES - self._bytes

    def begin(self, revision: int, *, sealed: int = 0) -> None:
        """Clear the history. Later changes follow the state at a revision.

        Before the revision `sealed`, watchers got derived changes, which differ from the store's.
        """
        self._changes = GradualList()
        self._times.clear()
        self._sizes.clear()
        self._first = self._bytes = self._prepended = 0
        self.floor, self.sealed = revision, sealed

    def add(self, change: ObjectChange) -> None:
        """Add a change; revisions must not go back."""
        size = change.size
        self._changes.append(change)
        self._times.append(self._clock())
        self._sizes.append(size)
        self._bytes += size
        places = len(self._changes)
        if self._bytes > MAX_BYTES or places - self._first > MAX_CHANGES or not places % _DROPPED_TOGETHER:
            self.trim()

    def prepend(self, changes: Sequence[ObjectChange], *, floor: int) -> None:
        """Put changes before the first one: all after `floor`, up to the present floor. They age from now on."""
        sizes = [change.size for change in changes]
        self._changes[: self._first] = changes
        self._times[: self._first] = [self._clock()] * len(changes)
        self._sizes[: self._first] = sizes
        self._first = 0
        self._bytes += sum(sizes)
        self._prepended += len(changes)
        self.floor = floor
        self.trim()

    def trim(self) -> None:
        """Drop changes that are too old or beyond a limit."""
        kept_from, count = self._clock() - KEPT_SECONDS, len(self._changes) - self._first
        while count and (
            self._bytes > MAX_BYTES
            or count > MAX_CHANGES
            or (self._times[self._first] < kept_from and (count > MIN_CHANGES or self._bytes > MAX_AGED_BYTES))
        ):
            self.floor = self._changes[self._first].revision
            self._bytes -= self._sizes[self._first]
            # release its objects now, its place in the list later
            self._changes[self._first] = _DROPPED
            self._first += 1
            count -= 1
            self._prepended = max(0, self._prepended - 1)
        if self._first >= _COMPACT_AFTER_CHANGES and self._first * 2 >= len(self._changes):
            for column in (self._changes, self._times, self._sizes):
                del column[: self._first]
            self._first = 0

    def since(self, revision: int) -> Sequence[ObjectChange]:
        """Return the changes after a revision.

        Raises:
            StatusError: 410 Expired if some of them were dropped.
        """
        if revision < self.floor:
            raise errors.expired(f"too old resource version: {revision} ({self.floor})")
        first = bisect_right(self._changes, revision, lo=self._first, key=lambda change: change.revision)
        return self._changes[first:]

    def latest(self, count: int) -> Sequence[ObjectChange]:
        """Return the newest changes, oldest first."""
        return self._changes[len(self._changes) - count :]

    def all(self) -> Sequence[ObjectChange]:
        """Return all changes."""
        return self._changes[self._first :]
