"""Renders changes and pushes them to watchers, without holding the event loop for long."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from apiext.base.meta import limits
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.cacher.watcher_groups import WatcherGroup, WatcherGroups
from apiext.storage.errors import RENDERING_ERRORS
from apiext.storage.interface import Event
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.interest import Interest
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView

_LITTLE_CHANGES: Final = 32
_LITTLE_BYTES: Final = 64 * 1024
"""Changes and their bytes that are rendered at once."""
_BATCH_CHANGES: Final = 256
_BATCH_BYTES: Final = 256 * 1024
"""Limits of one batch for a watcher: changes, and their bytes."""
_GROUPS: Final = 64
"""Groups matched with a change at once."""
_WOKEN_PER_TURN: Final = 128
"""Watchers to wake in one turn of the event loop; each takes some 30 microseconds."""
_BYTES_PER_WATCHER: Final = 16 * 1024
"""Bytes that take as long to write as waking a watcher."""

_LOG: Final = get_logger(__name__)


class Sender:
    """Sends changes to watchers in order: a little work at once, more by a task in slices. `groups` are the watchers by scope.

    All watches end if changes cannot be sent.
    """

    def __init__(self, groups: Mapping[str, WatcherGroups]) -> None:
        self._groups = groups
        self._waiting: deque[tuple[int, Sequence[ObjectChange], int]] = deque()
        self._unsent = 0
        """Bytes of the waiting changes."""
        self._task: asyncio.Task[None] | None = None
        self.number = 0
        """The number of calls of `send` so far. A new watcher gets later ones only."""

    @property
    def busy(self) -> bool:
        """Report whether changes wait to be sent."""
        return self._task is not None

    def send(self, changes: Sequence[ObjectChange], watchers: int) -> None:
        """Send changes to the watchers that joined before the call; there are `watchers` in all groups."""
        self.number += 1
        size = sum(map(_size, changes))
        little = len(changes) <= _LITTLE_CHANGES and size <= _LITTLE_BYTES and _woken(watchers, size) <= _WOKEN_PER_TURN
        if little and self._task is None:
            for _ in self._steps(self.number, changes):
                pass
            return
        if self._unsent > limits.MAX_UNSENT_BYTES:
            # too many different selectors of watchers: their clients resume
            _LOG.warning("watch events cannot be sent in time, ending watches", watchers=watchers)
            self._drop()
            return
        for batch in _batches(changes):
            self._waiting.append((self.number, batch, sum(map(_size, batch))))
        self._unsent += size
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_waiting())

    def finish(self) -> None:
        """End all watches once nothing waits, at once if nothing does."""
        if self._task is None:
            self._end_watches()
        else:
            self._task.add_done_callback(lambda _: self._end_watches())

    def _end_watches(self) -> None:
        for group in [group for groups in self._groups.values() for group in groups]:
            for watch in tuple(group.watchers):
                watch.finish()

    async def _send_waiting(self) -> None:
        pace = Pace(urgent=True)
        try:
            while self._waiting:
                number, changes, size = self._waiting.popleft()
                self._unsent -= size
                await self._render_missing(changes)
                for is_full in self._steps(number, changes):
                    if is_full or pace.due:
                        await pace.pause()
        except Exception:  # noqa: BLE001 -- a watch without its events must not go on
            _LOG.exception("watch events could not be sent, ending watches")
            self._drop()
        finally:
            self._task = None

    def _drop(self) -> None:
        self._waiting.clear()
        self._unsent = 0
        self._end_watches()

    async def _render_missing(self, changes: Sequence[ObjectChange]) -> None:
        """Render the large objects of changes; errors appear again where the objects are used."""
        missing: dict[VersionView, dict[StoredEntry, None]] = {}
        for change in changes:
            for interest in self._interests(change) if _size(change) > limits.MAX_INLINE_RENDERING_BYTES else ():
                if interest.view.inline:
                    wanted = missing.setdefault(interest.view, {})
                    wanted.update((entry, None) for entry in interest.needed(change) if not interest.view.is_ready(entry))
        for view, entries in missing.items():
            await view.items(list(entries))

    def _steps(self, number: int, changes: Sequence[ObjectChange]) -> Iterator[bool]:
        """Send changes; yield where others may run, with True where they should."""
        events: dict[WatcherGroup, list[Event]] = {}
        unconverted: dict[WatcherGroup, list[ObjectChange]] = {}
        for change in changes:
            for place, group in enumerate(self._matching(change)):
                if place % _GROUPS == _GROUPS - 1:
                    yield False
                if group.interest.view.inline:
                    _offer(group, number, change, events)
                else:
                    unconverted.setdefault(group, []).append(change)
            yield False
        woken = 0
        batches: dict[WatcherGroup, list[Any]] = {**events, **unconverted}
        for group, batch in batches.items():
            size = sum(step.size for step in batch)
            for watch in group.joined_before(number):
                watch.push(batch, size)
                woken += _woken(1, size)
                if woken >= _WOKEN_PER_TURN:
                    woken = 0
                    yield True
        for change in changes:
            change.drop_events()

    def _matching(self, change: ObjectChange) -> Iterator[WatcherGroup]:
        for groups in self._scopes(change):
            yield from groups.matching(change)

    def _interests(self, change: ObjectChange) -> Iterator[Interest]:
        for groups in self._scopes(change):
            yield from (group.interest for group in groups)

    def _scopes(self, change: ObjectChange) -> list[WatcherGroups]:
        slash = change.key.find("/") + 1
        scopes = ("", change.key[:slash], change.key) if slash else ("", change.key)
        return [self._groups[scope] for scope in scopes if scope in self._groups]


def _size(change: ObjectChange) -> int:
    """Return the bytes of the objects of a change."""
    return sum(state.size for state in (change.entry, change.previous) if state is not None)


def _woken(watchers: int, size: int) -> int:
    """Return the effort to send some bytes to some watchers, in watchers that get little."""
    return watchers * (1 + size // _BYTES_PER_WATCHER)


def _batches(changes: Sequence[ObjectChange]) -> Iterator[Sequence[ObjectChange]]:
    first = size = 0
    for place, change in enumerate(changes):
        if place > first and (place - first == _BATCH_CHANGES or size + change.size > _BATCH_BYTES):
            yield changes[first:place]
            first, size = place, 0
        size += change.size
    yield changes[first:]


def _offer(group: WatcherGroup, number: int, change: ObjectChange, events: dict[WatcherGroup, list[Event]]) -> None:
    try:
        event = group.interest.event(change)
    except RENDERING_ERRORS as error:
        # ends the watches of this group only; other versions may show the change
        earlier = events.pop(group, [])
        for watch in group.joined_before(number):
            if earlier:
                watch.push(earlier, 0)
            watch.fail(event_lines.status_error(error))
        return
    if event is not None:
        events.setdefault(group, []).append(event)
