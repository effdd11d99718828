"""A watch's queue: order, bounds and ends."""

import asyncio
from collections.abc import Iterator

import pytest

from apiext.meta import errors
from apiext.storage import watch_queue
from apiext.storage.interface import CorruptObjectError, Event, EventType
from apiext.storage.watch_queue import WatchQueue


def event(revision: int) -> Event:
    """Some event."""
    return Event(type=EventType.BOOKMARK, item=None, revision=revision, line=b"x" * 10)


async def read(queue: WatchQueue) -> list[int]:
    """The revisions up to the end."""
    return [event.revision async for batch in queue for event in batch]


async def test_backlog_comes_first() -> None:
    """What lies behind a watch is told before what was pushed meanwhile, in pieces, none of them empty."""
    queue = WatchQueue(backlog=(event(number) for number in range(1000)))
    queue.push([event(1000), event(1001)], 20)
    queue.push([event(1002)], 10)
    queue.finish()
    batches = [batch async for batch in queue]

    assert [event.revision for batch in batches for event in batch] == list(range(1003))
    assert all(batches)
    assert len(batches) > 3


async def test_batches_are_shared() -> None:
    """A batch that nothing else waits with is handed on as it is."""
    queue, other = WatchQueue(), WatchQueue()
    batch = [event(1)]
    for each in (queue, other):
        each.push(batch, 10)

    assert await anext(queue) is batch
    assert await anext(other) is batch


async def test_slow_watcher_is_ended() -> None:
    """A watcher that has too much waiting is ended when the next batch comes; one that keeps up takes any amount."""
    closed: list[WatchQueue] = []
    slow, fast = WatchQueue(closed=closed.append), WatchQueue(closed=closed.append)
    received = 0
    for number in range(watch_queue.MAX_QUEUED_EVENTS + 2):
        for queue in (slow, fast):
            queue.push([event(number)], 10)
        received += len(await anext(fast))

    assert closed == [slow]
    assert (slow.active, fast.active) == (False, True)
    assert await read(slow) == []
    assert received == watch_queue.MAX_QUEUED_EVENTS + 2


async def test_bytes_are_bounded() -> None:
    """Large events fill a queue before many of them do."""
    queue = WatchQueue()
    queue.push([event(1)], watch_queue.MAX_QUEUED_BYTES + 1)
    assert queue.active
    queue.push([event(2)], 10)

    assert not queue.active


async def test_failure_comes_last() -> None:
    """A failure is told after what was queued before it, and nothing after it."""
    queue = WatchQueue()
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


async def test_corrupt_backlog() -> None:
    """An object that cannot be shown ends the watch after what could."""

    def backlog() -> Iterator[Event]:
        yield event(1)
        raise CorruptObjectError("a/x", "broken")

    queue = WatchQueue(backlog=backlog())
    queue.push([event(2)], 10)
    events = [event async for batch in queue for event in batch]

    assert [(event.type, event.revision) for event in events] == [(EventType.BOOKMARK, 1), (EventType.ERROR, 0)]


async def test_close_while_waiting() -> None:
    """Closing wakes whoever waits, once, and tells the owner once."""
    closed: list[WatchQueue] = []
    queue = WatchQueue(closed=closed.append)
    waiting = asyncio.ensure_future(anext(queue))
    await asyncio.sleep(0)
    queue.close()
    queue.close()

    with pytest.raises(StopAsyncIteration):
        await waiting
    assert closed == [queue]


async def test_a_reader_that_gives_up() -> None:
    """A reader that stops waiting loses nothing."""
    queue = WatchQueue(backlog=[event(1)])
    for _ in range(3):
        waiting = asyncio.ensure_future(anext(queue))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    queue.finish()

    assert await read(queue) == [1]
