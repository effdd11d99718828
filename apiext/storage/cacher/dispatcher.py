"""Dispatches changes to watchers (apiserver pkg/storage/cacher/cacher.go: dispatchEvent)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.storage import rendering
from apiext.storage.cacher.watcher_groups import WatcherGroup, WatcherGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta import errors
    from apiext.storage.change import Change, Interest
    from apiext.storage.interface import Event
    from apiext.storage.watch_queue import WatchQueue

_BEFORE_END_SECONDS: Final = 2.0  # seconds
_PAUSE_SECONDS_PER_WATCHER: Final = 100e-6  # seconds
_MAX_PAUSE_SECONDS: Final = 0.02  # seconds
_SILENCE: Final = 10
"""Silence, in pauses, after which the next change is dispatched at once."""


class _Bookmarks:
    """The bookmark schedule of a watcher."""

    __slots__ = ("deadline", "due", "group", "start_revision")

    def __init__(self, *, group: WatcherGroup, start_revision: int, deadline: float, due: float) -> None:
        self.group = group
        self.start_revision = start_revision
        self.deadline = deadline
        self.due = due


class Dispatcher:
    """Dispatches changes to watchers by the scopes of their keys.

    Changes in quick succession are sent as one batch: a change waits 0.1 ms for each watcher, at most 20 ms, unless there was a
    silence before it.
    """

    def __init__(self, *, bookmark_interval: float) -> None:
        self._interval = bookmark_interval
        self._groups: dict[str, WatcherGroups] = {}
        self._bookmarks: dict[WatchQueue[Any], _Bookmarks] = {}
        self._watchers = 0
        self._pending: list[Change] = []
        self._timer: asyncio.TimerHandle | None = None
        self._silent_from = 0.0

    def __len__(self) -> int:
        return self._watchers

    def join(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Add a watcher."""
        # pending changes are part of the newcomer's initial state
        self._flush()
        self._groups.setdefault(interest.scope, WatcherGroups()).join(watch, interest)
        self._watchers += 1

    def leave(self, watch: WatchQueue[Any], interest: Interest) -> None:
        """Remove a watcher; idempotent."""
        self._bookmarks.pop(watch, None)
        groups = self._groups.get(interest.scope)
        if groups is None or not groups.leave(watch, interest):
            return
        self._watchers -= 1
        if not groups:
            del self._groups[interest.scope]

    def dispatch(self, changes: Sequence[Change]) -> None:
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
        return min(_MAX_PAUSE_SECONDS, _PAUSE_SECONDS_PER_WATCHER * self._watchers)

    def _flush(self) -> None:
        """Send the pending changes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending:
            return
        changes, self._pending = self._pending, []
        self._silent_from = asyncio.get_running_loop().time() + _SILENCE * self._pause()
        batches: dict[WatcherGroup, list[Event]] = {}
        unconverted: dict[WatcherGroup, list[Change]] = {}
        for change in changes:
            for scope in self._scopes(change.key):
                groups = self._groups.get(scope)
                for group in groups.matching(change) if groups is not None else ():
                    if group.interest.view.inline:
                        self._offer(group, change, batches)
                    else:
                        unconverted.setdefault(group, []).append(change)
        for group, batch in batches.items():
            size = sum(len(event.line) for event in batch)
            for watch in tuple(group.watchers):
                watch.push(batch, size)
        for group, converting in unconverted.items():
            for watch in tuple(group.watchers):
                watch.push(converting, sum(change.size for change in converting))
        for change in changes:
            change.drop_events()

    def _scopes(self, key: str) -> tuple[str, ...]:
        slash = key.find("/") + 1
        return ("", key[:slash], key) if slash else ("", key)

    def _offer(self, group: WatcherGroup, change: Change, batches: dict[WatcherGroup, list[Event]]) -> None:
        try:
            event = group.interest.event(change)
        except rendering.RENDERING_ERRORS as error:
            self._fail(group, rendering.status_error(error), batches)
            return
        if event is not None:
            batch = batches.get(group)
            if batch is None:
                batches[group] = [event]
            else:
                batch.append(event)

    def _fail(self, group: WatcherGroup, error: errors.StatusError, batches: dict[WatcherGroup, list[Event]]) -> None:
        """End the watches of a group whose version cannot show a change; other groups go on."""
        earlier = batches.pop(group, [])
        for watch in tuple(group.watchers):
            if earlier:
                watch.push(earlier, 0)
            watch.fail(error)

    def schedule_bookmarks(self, watch: WatchQueue[Any], interest: Interest, *, start_revision: int, timeout: float, now: float) -> None:
        """Schedule a watcher's bookmarks: one an interval, and one shortly before its timeout (seconds; 0: none)."""
        group = self._groups[interest.scope].group(interest)
        if group is None:
            return
        deadline = now + timeout if timeout else 0.0
        bookmarks = _Bookmarks(group=group, start_revision=start_revision, deadline=deadline, due=now)
        if self._schedule(bookmarks, now):
            self._bookmarks[watch] = bookmarks

    def _schedule(self, bookmarks: _Bookmarks, now: float) -> bool:
        bookmarks.due = now + self._interval
        if bookmarks.deadline:
            bookmarks.due = min(bookmarks.due, bookmarks.deadline - _BEFORE_END_SECONDS)
        return bookmarks.due > now

    def send_bookmarks(self, revision: int, now: float) -> None:
        """Send the bookmarks that are due."""
        self._flush()
        for watch, bookmarks in tuple(self._bookmarks.items()):
            if now < bookmarks.due:
                continue
            # a bookmark at the start revision is useless
            if revision > max(bookmarks.start_revision, bookmarks.group.interest.after):
                event = rendering.bookmark(bookmarks.group.interest.view.gvk, revision)
                watch.push([event], len(event.line))
            if not self._schedule(bookmarks, now):
                self._bookmarks.pop(watch, None)

    def end(self, error: errors.StatusError | None = None) -> None:
        """End all watches, with a Status if one is given."""
        self._flush()
        for groups in tuple(self._groups.values()):
            for group in groups:
                for watch in tuple(group.watchers):
                    if error is not None:
                        watch.fail(error)
                    else:
                        watch.finish()
