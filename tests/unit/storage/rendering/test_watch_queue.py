"""The queue of a watch: order, limits and end."""

import asyncio
from collections.abc import Iterator

import pytest

from apiext.base.meta import errors, limits
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import Event, EventType
from apiext.storage.rendering.watch_queue import WatchQueue


def event(revision: int) -> Event:
    """Return an event."""
    return Event(type=EventType.BOOKMARK, item=None, revision=revision, line=b"x" * 10)


async def read(queue: WatchQueue[Event]) -> list[int]:
    """Return the revisions up to the end."""
    return [event.revision async for batch in queue for event in batch]


async def test_delivers_the_backlog_first() -> None:
    """Deliver the backlog before pushed events, in chunks that are not empty."""
    queue = WatchQueue[Event](backlog=(event(number) for number in range(1000)))
    queue.push([event(1000), event(1001)], 20)
    queue.push([event(1002)], 10)
    queue.finish()
    batches = [batch async for batch in queue]

    assert [event.revision for batch in batches for event in batch] == list(range(1003))
    assert all(batches)
    assert len(batches) > 3


async def test_shares_batches() -> None:
    """Deliver a batch unchanged if nothing else is queued."""
    queue, other = WatchQueue[Event](), WatchQueue[Event]()
    batch = [event(1)]
    for each in (queue, other):
        each.push(batch, 10)

    assert await anext(queue) is batch
    assert await anext(other) is batch


async def test_ends_a_slow_watcher() -> None:
    """End a watcher whose queue is full after what is in it; accept any batch of one that keeps up."""
    closed: list[WatchQueue[Event]] = []
    slow, fast = WatchQueue[Event](closed=closed.append), WatchQueue[Event](closed=closed.append)
    received = 0
    for number in range(limits.MAX_QUEUED_EVENTS + 2):
        for queue in (slow, fast):
            queue.push([event(number)], 10)
        received += len(await anext(fast))

    assert closed == [slow]
    assert (slow.finished, fast.finished) == (True, False)
    assert len(await read(slow)) == limits.MAX_QUEUED_EVENTS
    assert received == limits.MAX_QUEUED_EVENTS + 2


async def test_limits_bytes() -> None:
    """Limit the bytes of a queue."""
    queue = WatchQueue[Event]()
    queue.push([event(1)], limits.MAX_QUEUED_BYTES + 1)
    assert not queue.finished
    queue.push([event(2)], 10)

    assert queue.finished


async def test_delivers_the_error_last() -> None:
    """Deliver an error after the queued events, and nothing after it."""
    queue = WatchQueue[Event]()
    queue.push([event(1)], 10)
    queue.fail(errors.expired("too old"))
    queue.fail(errors.expired("still too old"))
    queue.push([event(2)], 10)
    events = [event async for batch in queue for event in batch]

    assert [event.type for event in events] == [EventType.BOOKMARK, EventType.ERROR]
    assert events[1].line == (
        b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"too old","reason":"Expired","code":410}}\n'
    )


async def test_ends_at_a_corrupt_object() -> None:
    """End the watch with an error after the events before a corrupt object."""

    def backlog() -> Iterator[Event]:
        yield event(1)
        raise CorruptObjectError("a/x", "broken")

    queue = WatchQueue[Event](backlog=backlog())
    queue.push([event(2)], 10)
    events = [event async for batch in queue for event in batch]

    assert [(event.type, event.revision) for event in events] == [(EventType.BOOKMARK, 1), (EventType.ERROR, 0)]


async def test_close_wakes_the_reader() -> None:
    """Wake the waiting reader and notify the owner once on close."""
    closed: list[WatchQueue[Event]] = []
    queue = WatchQueue[Event](closed=closed.append)
    waiting = asyncio.ensure_future(anext(queue))
    await asyncio.sleep(0)
    queue.close()
    queue.close()

    with pytest.raises(StopAsyncIteration):
        await waiting
    assert closed == [queue]


async def test_cancelled_reader_loses_nothing() -> None:
    """Lose no events when a reader is cancelled."""
    queue = WatchQueue[Event](backlog=[event(1)])
    for _ in range(3):
        waiting = asyncio.ensure_future(anext(queue))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    queue.finish()

    assert await read(queue) == [1]


async def test_joins_small_batches_only() -> None:
    """Deliver waiting batches together up to the size of one write, in order, and a larger batch alone and unchanged."""
    queue = WatchQueue[Event]()
    large = [event(3)]
    for batch, size in (([event(1)], 10), ([event(2)], 10), (large, 1 << 20), ([event(4)], 10), ([event(5)], 10)):
        queue.push(batch, size)
    queue.finish()
    batches = [batch async for batch in queue]

    assert [[event.revision for event in batch] for batch in batches] == [[1, 2], [3], [4, 5]]
    assert batches[1] is large


async def test_cuts_a_backlog_of_large_events() -> None:
    """Deliver a backlog of large events in several chunks."""
    line = b"x" * 200_000
    queue = WatchQueue[Event](backlog=[Event(type=EventType.ADDED, item=None, revision=number, line=line) for number in range(6)])
    queue.finish()

    assert max([len(batch) async for batch in queue]) <= 2
