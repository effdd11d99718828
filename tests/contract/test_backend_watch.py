"""Watches on every backend: order, resumption, previous values, progress, compaction, end."""

import asyncio
import random
from collections.abc import Callable

import pytest

from apiext.storage.backend import Backend, BackendEvent, CompactedError, KeyValue
from tests.contract.watching import collect, first, watching, write
from tests.support.event_loop import until


async def test_starts_with_the_current_revision(backend: Backend, prefix: str) -> None:
    """Return an empty first batch with the revision after which all events follow."""
    before = await write(backend, prefix + "a", b"1")
    async with watching(backend, prefix) as batches:
        opening = await first(batches)
        assert (list(opening.events), opening.revision) == ([], before.revision)
        created = await write(backend, prefix + "b", b"1")
        batch = await first(batches)
        assert list(batch.events) == [BackendEvent(prefix + "b", created.revision, b"1", None)]
        assert batch.revision == created.revision


async def test_returns_previous_values(backend: Backend, prefix: str) -> None:
    """Return the previous value and its revision with updates and deletions."""
    async with watching(backend, prefix) as batches:
        await first(batches)
        created = await backend.create(prefix + "a", b"1")
        updated = await backend.update(prefix + "a", b"", expected=created.revision)
        deleted = await backend.delete(prefix + "a", expected=updated.revision)
        again = await backend.create(prefix + "a", b"3")
        events = await collect(batches, lambda events: len(events) == 4)
    one, two = KeyValue(prefix + "a", b"1", created.revision), KeyValue(prefix + "a", b"", updated.revision)
    assert events == [
        BackendEvent(prefix + "a", created.revision, b"1", None),
        BackendEvent(prefix + "a", updated.revision, b"", one),
        BackendEvent(prefix + "a", deleted.revision, None, two),
        BackendEvent(prefix + "a", again.revision, b"3", None),
    ]


async def test_returns_the_same_events_without_previous_values(backend: Backend, prefix: str) -> None:
    """Return the same events to a watch that requests no previous values."""
    async with watching(backend, prefix, previous=False) as batches:
        await first(batches)
        created = await backend.create(prefix + "a", b"1")
        updated = await backend.update(prefix + "a", b"2", expected=created.revision)
        deleted = await backend.delete(prefix + "a", expected=updated.revision)
        events = await collect(batches, lambda events: len(events) == 3)
    told = [(event.key, event.revision, event.value) for event in events]
    assert told == [(prefix + "a", created.revision, b"1"), (prefix + "a", updated.revision, b"2"), (prefix + "a", deleted.revision, None)]


async def test_starts_at_an_old_revision(backend: Backend, prefix: str) -> None:
    """Return past events with their previous values, then new ones, to a watch from an old revision."""
    created = await backend.create(prefix + "a", b"1")
    updated = await backend.update(prefix + "a", b"2", expected=created.revision)
    async with watching(backend, prefix, start=updated.revision) as batches:
        past = await collect(batches, lambda events: len(events) == 1)
        deleted = await backend.delete(prefix + "a", expected=updated.revision)
        present = await collect(batches, lambda events: len(events) == 1)
    one, two = KeyValue(prefix + "a", b"1", created.revision), KeyValue(prefix + "a", b"2", updated.revision)
    assert past == [BackendEvent(prefix + "a", updated.revision, b"2", one)]
    assert present == [BackendEvent(prefix + "a", deleted.revision, None, two)]


async def test_starts_at_a_future_revision(backend: Backend, prefix: str) -> None:
    """Return no event before the start of a watch from a future revision."""
    start = await backend.revision() + 3
    async with watching(backend, prefix, start=start) as batches:
        collecting = asyncio.ensure_future(collect(batches, lambda events: len(events) == 2))
        await asyncio.sleep(0)
        results = [await backend.create(f"{prefix}{n}", b"") for n in range(4)]
        events = await collecting
    assert [event.revision for event in events] == [result.revision for result in results[2:]]


async def test_watches_only_the_prefix(backend: Backend, prefix: str) -> None:
    """Return no event of other prefixes, neither new ones nor from the log."""
    start = await backend.revision() + 1
    async with watching(backend, prefix + "in/") as live, watching(backend, prefix + "in/", start=start) as old:
        await first(live)
        for key in ("out/a", "in", "in/a", "in0", "inn/a", "in/b"):
            await backend.create(prefix + key, b"")
        for batches in (live, old):
            events = await collect(batches, lambda events: len(events) == 2)
            assert [event.key.removeprefix(prefix) for event in events] == ["in/a", "in/b"]


def reaches(revision: int) -> Callable[[list[BackendEvent]], bool]:
    """Return a condition: the events go up to a revision."""
    return lambda events: bool(events) and events[-1].revision == revision


async def test_keeps_the_order_of_many_writers(backend: Backend, prefix: str) -> None:
    """Return every event once and in the order of revisions to each watch, whenever it starts, with 50 concurrent writers."""
    start = await backend.revision() + 1
    written: list[int] = []

    async def work(n: int) -> None:
        key, chance = f"{prefix}{n % 20}", random.Random(n)  # noqa: S311 -- the same numbers in each run
        for _ in range(8):
            current, _ = await backend.get(key)
            if current is None:
                result = await backend.create(key, b"")
            elif chance.random() < 0.3:
                result = await backend.delete(key, expected=current.revision)
            else:
                result = await backend.update(key, b"%d" % n, expected=current.revision)
            if result.succeeded:
                written.append(result.revision)

    async with (
        watching(backend, prefix) as live,
        watching(backend, prefix, start=start) as resumed,
    ):
        await first(live)
        await asyncio.gather(*(work(n) for n in range(50)))
        expected = sorted(written)
        middle = len(expected) // 2
        async with watching(backend, prefix, start=expected[middle]) as late:
            told = [await collect(batches, reaches(expected[-1])) for batches in (live, resumed, late)]
    assert [event.revision for event in told[0]] == expected
    assert told[1] == told[0]
    assert told[2] == told[0][middle:]
    state: dict[str, KeyValue] = {}
    for event in told[0]:
        assert event.previous == state.pop(event.key, None)
        if event.value is not None:
            state[event.key] = KeyValue(event.key, event.value, event.revision)
    assert sorted(state.values(), key=lambda item: item.key) == list((await backend.list(prefix)).items)


async def test_continues_a_list_without_a_gap(backend: Backend, prefix: str) -> None:
    """Return each change once to watches that start at a list's next revision during writes."""
    total = 200

    async def work() -> None:
        for n in range(total):
            await backend.create(f"{prefix}{n:03}", b"")

    async def follow() -> int:
        listed = await backend.list(prefix)
        missing = total - len(listed.items)
        async with watching(backend, prefix, start=listed.revision + 1) as batches:
            events = await collect(batches, lambda events: len(events) >= missing)
        assert [item.key for item in listed.items] + [event.key for event in events] == [f"{prefix}{n:03}" for n in range(total)]
        return missing

    working = asyncio.ensure_future(work())
    joined = [await follow() for _ in range(1)]
    joined += await asyncio.gather(*(follow() for _ in range(10)))
    await working
    assert joined[0] > 0


async def test_reports_progress_on_request(backend: Backend, prefix: str) -> None:
    """Return the revision reached on request although no event happened in the prefix."""
    async with watching(backend, prefix) as batches:
        await first(batches)
        beside = await backend.create(prefix[:-1], b"")
        reached = 0
        while reached < beside.revision:
            await backend.request_progress()
            batch = await first(batches)
            assert not batch.events
            reached = batch.revision
        inside = await backend.create(prefix + "a", b"")
        assert [event.revision for event in (await first(batches)).events] == [inside.revision]


async def test_reports_progress_to_a_watch_from_the_past(backend: Backend, prefix: str) -> None:
    """Return the current revision on request to a watch that has had no event since its start."""
    start = await backend.revision() + 1
    beside = await backend.create(prefix[:-1], b"")
    async with watching(backend, prefix, start=start) as batches:
        waiting = asyncio.ensure_future(first(batches))
        while not waiting.done():
            await backend.request_progress()
            await asyncio.wait((waiting,), timeout=0.02)
        assert (await waiting).revision == beside.revision


async def test_rejects_a_compacted_start(backend: Backend, prefix: str) -> None:
    """Raise CompactedError with the compacted revision for an older start, and accept that revision as the start."""
    result = await write(backend, prefix + "a", b"1", b"2", b"3")
    await backend.compact(result.revision)
    with pytest.raises(CompactedError) as caught:
        await first(backend.watch(prefix, start=result.revision - 1))
    assert caught.value.compact_revision == result.revision
    async with watching(backend, prefix, start=result.revision, previous=False) as batches:
        (event,) = (await first(batches)).events
        assert (event.revision, event.value) == (result.revision, b"3")


async def test_rejects_a_compacted_previous_value(backend: Backend, prefix: str) -> None:
    """Raise CompactedError if a replaced value that is requested is compacted; a created key has none."""
    created = await backend.create(prefix + "a", b"1")
    await backend.compact(created.revision)
    async with watching(backend, prefix, start=created.revision) as batches:
        (event,) = (await first(batches)).events
        assert (event.value, event.previous) == (b"1", None)
    updated = await backend.update(prefix + "a", b"2", expected=created.revision)
    await backend.compact(updated.revision)
    with pytest.raises(CompactedError):
        await first(backend.watch(prefix, start=updated.revision, previous=True))


async def test_starts_at_a_compacted_deletion(backend: Backend, prefix: str) -> None:
    """Return the deletion made at the compacted revision to a watch that starts there."""
    created = await backend.create(prefix + "a", b"1")
    deleted = await backend.delete(prefix + "a", expected=created.revision)
    await backend.create(prefix + "b", b"1")
    await backend.compact(deleted.revision)
    async with watching(backend, prefix, start=deleted.revision, previous=False) as batches:
        events = await collect(batches, lambda events: len(events) == 2)
    assert [(event.key[-1], event.value) for event in events] == [("a", None), ("b", b"1")]


async def test_continues_a_watch_during_compaction(backend: Backend, prefix: str) -> None:
    """Return all events to a watch that is up to date when its past is compacted."""
    async with watching(backend, prefix) as batches:
        await first(batches)
        created = await backend.create(prefix + "a", b"1")
        assert (await first(batches)).revision == created.revision
        await backend.compact(created.revision)
        updated = await backend.update(prefix + "a", b"2", expected=created.revision)
        batch = await first(batches)
    assert [event.revision for event in batch.events] == [updated.revision]


async def test_close_ends_watches(backend: Backend, prefix: str) -> None:
    """End watches without an error when the backend is closed."""
    watches = [backend.watch(prefix), backend.watch(prefix, start=await backend.revision() + 1)]

    seen = [0, 0]

    async def follow(n: int) -> None:
        async for batch in watches[n]:
            seen[n] += len(batch.events)

    tasks = [asyncio.ensure_future(follow(n)) for n in range(2)]
    async with watching(backend, prefix) as batches:
        await first(batches)
        await backend.create(prefix + "a", b"")
        await first(batches)
    await until(lambda: seen[1])
    await backend.close()
    async with asyncio.timeout(30):
        await asyncio.gather(*tasks)
    assert seen in ([1, 1], [0, 1])


async def test_cancels_one_watch(backend: Backend, prefix: str) -> None:
    """End a watch whose reader is cancelled, and continue the others."""
    async with watching(backend, prefix) as other:
        await first(other)
        batches = backend.watch(prefix)
        await first(batches)
        task = asyncio.ensure_future(first(batches))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(StopAsyncIteration):
            await anext(batches)
        created = await backend.create(prefix + "a", b"")
        assert (await first(other)).revision == created.revision
