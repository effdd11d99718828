"""The watchers of a cache: who gets which change (apiserver pkg/storage/cacher/cacher.go: dispatchEvent)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.storage import rendering
from apiext.storage.cacher.watcher_groups import Group, Groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta import errors
    from apiext.storage.change import Change, Interest
    from apiext.storage.interface import Event
    from apiext.storage.watch_queue import WatchQueue

_BEFORE_END: Final = 2.0
_PAUSE_PER_WATCHER: Final = 100e-6
_LONGEST_PAUSE: Final = 0.02
_SILENCE: Final = 10
"""Pauses without a change, after which the next one goes out at once."""


class _Bookmarks:
    """When a watcher is due for its next bookmark."""

    __slots__ = ("begun", "deadline", "due", "group")

    def __init__(self, *, group: Group, begun: int, deadline: float, due: float) -> None:
        self.group = group
        self.begun = begun
        self.deadline = deadline
        self.due = due


class Audience:
    """Hands changes to watchers, by the scopes that a key lies in.

    Many watchers are given what comes in quick succession together: a change waits 0.1 ms for each watcher, 20 ms at
    most, so that a burst of writes does not become as many small sends to everybody. After a silence it does not wait.
    """

    def __init__(self, *, bookmark_interval: float) -> None:
        self._interval = bookmark_interval
        self._groups: dict[str, Groups] = {}
        self._bookmarks: dict[WatchQueue, _Bookmarks] = {}
        self._watchers = 0
        self._pending: list[Change] = []
        self._timer: asyncio.TimerHandle | None = None
        self._silent_from = 0.0

    def __len__(self) -> int:
        return self._watchers

    def join(self, watch: WatchQueue, interest: Interest) -> None:
        """Begin to hand changes to a watcher."""
        # what waits is part of what the newcomer has been given already
        self._flush()
        self._groups.setdefault(interest.scope, Groups()).join(watch, interest)
        self._watchers += 1

    def leave(self, watch: WatchQueue, interest: Interest) -> None:
        """Stop handing changes to a watcher; it may have left already."""
        self._bookmarks.pop(watch, None)
        groups = self._groups.get(interest.scope)
        if groups is None or not groups.leave(watch, interest):
            return
        self._watchers -= 1
        if not groups:
            del self._groups[interest.scope]

    def dispatch(self, changes: Sequence[Change]) -> None:
        """Give each watcher what it wants of some changes, as one batch; at once, or together with what comes soon."""
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
        return min(_LONGEST_PAUSE, _PAUSE_PER_WATCHER * self._watchers)

    def _flush(self) -> None:
        """Give out what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending:
            return
        changes, self._pending = self._pending, []
        self._silent_from = asyncio.get_running_loop().time() + _SILENCE * self._pause()
        batches: dict[Group, list[Event]] = {}
        for change in changes:
            for scope in self._scopes(change.key):
                groups = self._groups.get(scope)
                for group in groups.concerned(change) if groups is not None else ():
                    self._offer(group, change, batches)
        for group, batch in batches.items():
            size = sum(len(event.line) for event in batch)
            for watch in tuple(group.watchers):
                watch.push(batch, size)
        for change in changes:
            change.settle()

    def _scopes(self, key: str) -> tuple[str, ...]:
        slash = key.find("/") + 1
        return ("", key[:slash], key) if slash else ("", key)

    def _offer(self, group: Group, change: Change, batches: dict[Group, list[Event]]) -> None:
        try:
            event = group.interest.event(change)
        except rendering.UNSHOWABLE as error:
            self._fail(group, rendering.reason(error), batches)
            return
        if event is not None:
            batch = batches.get(group)
            if batch is None:
                batches[group] = [event]
            else:
                batch.append(event)

    def _fail(self, group: Group, error: errors.StatusError, batches: dict[Group, list[Event]]) -> None:
        """End a group that cannot be shown a change; those who watch elsewhere go on."""
        earlier = batches.pop(group, [])
        for watch in tuple(group.watchers):
            if earlier:
                watch.push(earlier, 0)
            watch.fail(error)

    def expect_bookmarks(self, watch: WatchQueue, interest: Interest, *, begun: int, timeout: float, now: float) -> None:
        """Send a watcher bookmarks: one each interval, and one shortly before the end of its time (0: no end)."""
        group = self._groups[interest.scope].group(interest)
        if group is None:
            return
        deadline = now + timeout if timeout else 0.0
        bookmarks = _Bookmarks(group=group, begun=begun, deadline=deadline, due=now)
        if self._plan(bookmarks, now):
            self._bookmarks[watch] = bookmarks

    def _plan(self, bookmarks: _Bookmarks, now: float) -> bool:
        bookmarks.due = now + self._interval
        if bookmarks.deadline:
            bookmarks.due = min(bookmarks.due, bookmarks.deadline - _BEFORE_END)
        return bookmarks.due > now

    def send_bookmarks(self, revision: int, now: float) -> None:
        """Send the bookmarks that are due."""
        self._flush()
        for watch, bookmarks in tuple(self._bookmarks.items()):
            if now < bookmarks.due:
                continue
            # whoever has seen nothing newer than where it began gains nothing from being told so
            if revision > max(bookmarks.begun, bookmarks.group.interest.after):
                event = rendering.bookmark(bookmarks.group.interest.view.gvk, revision)
                watch.push([event], len(event.line))
            if not self._plan(bookmarks, now):
                self._bookmarks.pop(watch, None)

    def end(self, error: errors.StatusError | None = None) -> None:
        """End all watches, with a Status where there is one."""
        self._flush()
        for groups in tuple(self._groups.values()):
            for group in groups:
                for watch in tuple(group.watchers):
                    if error is not None:
                        watch.fail(error)
                    else:
                        watch.finish()
