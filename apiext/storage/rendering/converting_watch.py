"""Watches in a version that needs an awaited conversion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from apiext.base.meta import errors
from apiext.storage.interface import Event, Item
from apiext.storage.rendering import event_lines
from apiext.storage.rendering.interest import Interest
from apiext.storage.rendering.object_change import ObjectChange
from apiext.storage.rendering.watch_queue import WatchQueue

Step = ObjectChange | Event
"""A change to convert, or an event that is ready, such as a bookmark."""


async def convert(interest: Interest, steps: Sequence[Step]) -> tuple[list[Event], errors.StatusError | None]:
    """Return the events of some steps after one conversion; the error ends the watch after them."""
    view = interest.view
    needed = list(dict.fromkeys(entry for step in steps if not isinstance(step, Event) for entry in interest.needed(step)))
    shown = dict(zip(needed, await view.items(needed), strict=True))
    events: list[Event] = []
    for step in steps:
        if isinstance(step, Event):
            events.append(step)
            continue
        for entry in interest.needed(step):
            item = shown[entry]
            if not isinstance(item, Item):
                return events, event_lines.status_error(item)
        event = interest.event(step)
        step.drop_events()
        if event is not None:
            events.append(event)
    return events, None


class ConvertingWatch:
    """Implements interface.Watch over a queue of changes: converts them when the reader takes them.

    Slow converters delay only their own watches, and the limits of the queue count the changes that wait.
    """

    def __init__(self, queue: WatchQueue[Step], interest: Interest) -> None:
        self._queue = queue
        self._interest = interest
        self._steps: list[Step] = []

    def __aiter__(self) -> AsyncIterator[list[Event]]:
        return self

    async def __anext__(self) -> list[Event]:
        while True:
            # kept until they are converted: a reader that is cancelled loses nothing
            self._steps = self._steps or await anext(self._queue)
            events, error = await convert(self._interest, self._steps)
            self._steps = []
            if error is not None:
                self._queue.close()
                return [*events, event_lines.error_event(error)]
            if events:
                return events

    def fail(self, error: errors.StatusError) -> None:
        """Implement Watch.fail."""
        self._queue.fail(error)

    def close(self) -> None:
        """Implement Watch.close."""
        self._queue.close()
