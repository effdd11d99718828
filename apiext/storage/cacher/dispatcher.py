"""Dispatches changes to watchers (apiserver pkg/storage/cacher/cacher.go: dispatchEvent)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apiext.base.meta import errors
from apiext.storage.cacher.sender import Sender
from apiext.storage.cacher.watcher_groups import WatcherGroup, WatcherGroups
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.interest import Interest, ShardStats
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.watch_queue import WatchQueue

_BEFORE_END_SECONDS: Final = 2.0
_PAUSE_SECONDS_PER_WATCHER: Final = 100e-6
_MAX_PAUSE_SECONDS: Final = 0.02
SILENT_PAUSES: Final = 10
"""Silence, in pauses, after which the dispatcher sends the next change at once."""


@dataclass(slots=True)
class _Bookmarks:
    """The bookmark schedule of a watcher."""

    interest: Interest
    sent: int
    deadline: float
    due: float = 0.0


class Dispatcher:
    """Dispatches changes to watchers by the scopes of their keys.

    It sends changes in quick succession as one batch. A change waits 0.1 ms for each watcher, at most 20 ms; after a silence it does not
    wait.
    """

    def __init__(self, *, clock: Callable[[], float], bookmark_interval: float) -> None:
        self.shards = ShardStats()
        """To be replaced before the first watcher joins, where a successor of the cache goes on counting."""
        self._clock = clock
        self._interval = bookmark_interval
        self._groups: dict[str, WatcherGroups] = {}
        self._bookmarks: dict[WatchQueue[Any], _Bookmarks] = {}
        self.watchers = 0
        self._sender = Sender(self._groups)
        self._pending: list[ObjectChange] = []
        self._timer: asyncio.TimerHandle | None = None
        self._silent_from = 0.0

    def join(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Add a watcher."""
        # a new watcher's initial state includes pending changes
        self._flush()
        self._groups.setdefault(interest.scope, WatcherGroups(self.shards)).join(watch, interest, self._sender.number)
        self.watchers += 1
        if interest.selection.shard is not None:
            self.shards.watches += 1
            self.shards.is_used = True

    def leave(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Remove a watcher; idempotent."""
        self._bookmarks.pop(watch, None)
        groups = self._groups.get(interest.scope)
        if groups is None or not groups.leave(watch, interest):
            return
        self.watchers -= 1
        self.shards.watches -= interest.selection.shard is not None
        if not groups:
            del self._groups[interest.scope]

    def dispatch(self, changes: Sequence[ObjectChange]) -> None:
        """Send changes to the watchers that select them, at once or together with the next ones."""
        if not self._groups:
            return
        self._pending += changes
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._silent_from:
            self._flush()
        else:
            self._timer = loop.call_later(self._pause(), self._flush)

    def _pause(self) -> float:
        return min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS_PER_WATCHER * self.watchers)

    def _flush(self) -> None:
        """Send the pending changes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending:
            return
        changes, self._pending = self._pending, []
        self._silent_from = asyncio.get_running_loop().time() + SILENT_PAUSES * self._pause()
        self._sender.send(changes, self.watchers)

    def schedule_bookmarks(self, watch: WatchQueue[Any], interest: Interest, *, sent: int, timeout: float) -> None:
        """Schedule a watcher's bookmarks after revision `sent`: one an interval, and one shortly before its timeout (seconds; 0: none)."""
        now = self._clock()
        bookmarks = _Bookmarks(interest, sent, deadline=now + timeout if timeout else 0.0)
        if self._schedule(bookmarks, now):
            self._bookmarks[watch] = bookmarks

    def _schedule(self, bookmarks: _Bookmarks, now: float) -> bool:
        bookmarks.due = now + self._interval
        if bookmarks.deadline:
            bookmarks.due = min(bookmarks.due, bookmarks.deadline - _BEFORE_END_SECONDS)
        return bookmarks.due > now

    def send_bookmarks(self, revision: int) -> None:
        """Send due bookmarks."""
        self._flush()
        if self._sender.busy:
            # a bookmark must not overtake a change
            return
        now = self._clock()
        for watch, bookmarks in tuple(self._bookmarks.items()):
            if now < bookmarks.due:
                continue
            # the watch's first events end at the revision `sent`
            if revision > max(bookmarks.sent, bookmarks.interest.after):
                event = event_lines.bookmark(bookmarks.interest.view.gvk, revision)
                watch.push([event], len(event.line))
            if not self._schedule(bookmarks, now):
                self._bookmarks.pop(watch, None)

    def expire(self, first: int, end: int) -> None:
        """End watches with start revisions from `first` to before `end` with 410: they would miss lost changes."""
        self._flush()
        for group in self._all_groups():
            after = group.interest.after
            if first <= after < end:
                _expire(group, after, end)

    def expire_all(self, reached: int, end: int) -> None:
        """End all watches with 410: no change leads from their state at the revision `reached` to that at `end`."""
        self._flush()
        for group in self._all_groups():
            _expire(group, max(group.interest.after, reached), end)

    def end(self) -> None:
        """End all watches after sending the pending changes."""
        self._flush()
        self._sender.finish()

    def _all_groups(self) -> list[WatcherGroup]:
        return [group for groups in self._groups.values() for group in groups]


def _expire(group: WatcherGroup, after: int, end: int) -> None:
    for watch in tuple(group.watchers):
        watch.fail(errors.expired(f"too old resource version: {after} ({end})"))
