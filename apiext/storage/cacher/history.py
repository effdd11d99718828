"""The changes of the recent past, for watchers that resume and lists at a revision gone by.

Mirrors apiserver pkg/storage/cacher/watch_cache_history.go.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from apiext.meta import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.storage.change import Change
    from apiext.storage.entry import Entry

MIN_CHANGES: Final = 100
MAX_CHANGES: Final = 100 * 1024
MAX_BYTES: Final = 32 << 20
KEPT_FOR: Final = 75.0
_COMPACT_AFTER: Final = 1024


class History:
    """Keeps changes for at least 75 seconds, a little longer than the time between bookmarks, as far as its size allows.

    A hundred changes stay however old they are; the bytes of the others are bounded.
    """

    def __init__(self, *, clock: Callable[[], float], max_bytes: int = MAX_BYTES) -> None:
        self._clock = clock
        self._max_bytes = max_bytes
        self._changes: list[Change] = []
        self._times: list[float] = []
        self._sizes: list[int] = []
        self._first = 0
        self._bytes = 0
        self.floor = 0
        """All changes after this revision are here."""

    def __len__(self) -> int:
        return len(self._changes) - self._first

    def begin(self, revision: int) -> None:
        """Forget everything: what comes from now on continues the state at a revision."""
        self._changes.clear()
        self._times.clear()
        self._sizes.clear()
        self._first = self._bytes = 0
        self.floor = revision

    def add(self, change: Change) -> None:
        """Note a change; revisions never go back."""
        now = self._clock()
        self._changes.append(change)
        self._times.append(now)
        size = change.size
        self._sizes.append(size)
        self._bytes += size
        self._trim(now)

    def trim(self) -> None:
        """Let go what has been kept long enough."""
        self._trim(self._clock())

    def _trim(self, now: float) -> None:
        while len(self) > MIN_CHANGES and self._is_over(now):
            self._drop()

    def _is_over(self, now: float) -> bool:
        outlived = now - self._times[self._first] > KEPT_FOR
        return outlived or self._bytes > self._max_bytes or len(self) > MAX_CHANGES

    def _drop(self) -> None:
        self.floor = self._changes[self._first].revision
        self._bytes -= self._sizes[self._first]
        self._first += 1
        if self._first >= _COMPACT_AFTER and self._first * 2 >= len(self._changes):
            for column in (self._changes, self._times, self._sizes):
                del column[: self._first]
            self._first = 0

    def since(self, revision: int) -> Sequence[Change]:
        """The changes after a revision; raises StatusError 410 Expired when some are gone."""
        if revision < self.floor:
            raise errors.expired(f"too old resource version: {revision} ({self.floor})")
        first = bisect_right(self._changes, revision, lo=self._first, key=lambda change: change.revision)
        return self._changes[first:]

    def undo(self, revision: int) -> dict[str, Entry | None]:
        """What stood at a revision under each key that has changed since (None: nothing). Raises like `since`."""
        return {change.key: change.previous for change in reversed(self.since(revision))}

    def latest(self, count: int) -> Sequence[Change]:
        """So many of the newest changes, oldest first."""
        return self._changes[len(self._changes) - count :]

    def all(self) -> Sequence[Change]:
        """Everything that is kept."""
        return self._changes[self._first :]
