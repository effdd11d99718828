"""A backend that measures its calls for the requests that make them."""

import asyncio

import pytest

from apiext.storage.backends.measured_backend import TimedBackend
from apiext.storage.store_times import STORE_TIMES, StoreTimes, untimed
from tests.support.servers.memory_backend import MemoryBackend


@pytest.fixture
def timed() -> TimedBackend:
    """Return the backend."""
    return TimedBackend(MemoryBackend(), "/registry")


async def _times(call: object) -> tuple[bool, bool]:
    """Return whether a call in a task of its own has taken time for reads and for writes."""
    times = StoreTimes()

    async def request() -> None:
        STORE_TIMES.set(times)
        await call  # type: ignore[misc]

    await asyncio.create_task(request())
    return times.reads > 0, times.writes > 0


async def test_calls(timed: TimedBackend) -> None:
    """Tell reads of objects from writes. Leave out lists, as the reference does, and the question of the barrier."""
    key = "/registry/example.com/widgets/a"
    calls = [timed.create(key, b"{}"), timed.get(key), timed.list("/registry/"), timed.revision(), timed.delete(key, expected=2)]

    assert [await _times(call) for call in calls] == [(False, True), (True, False), (False, False), (False, False), (False, True)]


async def test_uncounted_calls(timed: TimedBackend) -> None:
    """Leave out what a request does for the server itself, and only that."""
    times = StoreTimes()
    STORE_TIMES.set(times)
    with untimed():
        await timed.get("/registry/namespaces/a")
    assert times.reads == 0
    await timed.get("/registry/namespaces/a")

    assert times.reads > 0


async def test_other_tasks(timed: TimedBackend) -> None:
    """Count the calls of no request as any backend does."""
    await timed.get("/registry/example.com/widgets/a")

    assert timed.statistics.durations["get", "example.com", "widgets"].count == 1
