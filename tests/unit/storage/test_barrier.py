"""The shared request for the store's revision."""

import asyncio

import pytest

from apiext.storage import barrier as barriers
from apiext.storage.backend import UnavailableError
from apiext.storage.barrier import Barrier
from tests.support.event_loop import advance, settle
from tests.support.servers.memory_backend import MemoryBackend

_PATIENCE = 1000.0


@pytest.fixture(autouse=True)
def patient_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers wait for the request under way until the test moves the clock."""
    monkeypatch.setattr(barriers, "PATIENCE_SECONDS", _PATIENCE)


@pytest.fixture
def barrier(backend: MemoryBackend) -> Barrier:
    """Return a barrier before the backend."""
    return Barrier(backend)


async def test_sends_a_request_for_one_reader(backend: MemoryBackend) -> None:
    """Send one request for a single reader."""
    assert await Barrier(backend).revision() == 1
    assert backend.calls == {"revision": 1}


async def test_shares_the_next_request(backend: MemoryBackend, barrier: Barrier) -> None:
    """Share the next request among the readers that arrive during one."""
    backend.gate.clear()
    first = asyncio.ensure_future(barrier.revision())
    await settle()
    later = [asyncio.ensure_future(barrier.revision()) for _ in range(100)]
    await settle()
    assert backend.calls == {"revision": 1}
    backend.gate.set()
    await backend.create("/x", b"")

    assert await first <= 2
    assert await asyncio.gather(*later) == [2] * 100
    assert backend.calls["revision"] == 2


async def test_sends_another_request_beside_a_late_one(backend: MemoryBackend, barrier: Barrier) -> None:
    """Send a request beside one that is late for the readers that wait, but only so many."""
    backend.gate.clear()
    readers = []
    for _ in range(6):
        readers += [asyncio.ensure_future(barrier.revision()) for _ in range(2)]
        await settle()
        advance(_PATIENCE)
        await settle()
    under_way = dict(backend.calls)
    backend.gate.set()

    assert await asyncio.gather(*readers) == [1] * 12
    assert under_way == {"revision": 4}
    assert backend.calls == {"revision": 5}


async def test_shares_a_request_among_simultaneous_readers(backend: MemoryBackend, barrier: Barrier) -> None:
    """Share a request among the readers of one turn of the event loop."""
    assert await asyncio.gather(*(barrier.revision() for _ in range(100))) == [1] * 100
    assert backend.calls == {"revision": 1}


async def test_gathers_readers_that_come_back(backend: MemoryBackend, barrier: Barrier) -> None:
    """Share the request after an answer with the readers of that answer that ask again."""

    async def read_twice() -> None:
        await barrier.revision()
        await asyncio.sleep(0)
        await barrier.revision()

    backend.gate.clear()
    readers = [asyncio.ensure_future(read_twice()) for _ in range(4)]
    await settle()
    waiting = asyncio.ensure_future(barrier.revision())
    await settle()
    backend.gate.set()
    await asyncio.gather(*readers, waiting)

    assert backend.calls == {"revision": 2}


async def test_survives_a_cancelled_reader(backend: MemoryBackend, barrier: Barrier) -> None:
    """Answer the other readers when one is cancelled."""
    backend.gate.clear()
    asking = asyncio.ensure_future(barrier.revision())
    await settle()
    leaving, staying = (asyncio.ensure_future(barrier.revision()) for _ in range(2))
    await settle()
    leaving.cancel()
    asking.cancel()
    await settle()
    backend.gate.set()

    assert await staying == 1
    assert await barrier.revision() == 1


async def test_raises_the_error_in_all_readers(backend: MemoryBackend, barrier: Barrier) -> None:
    """Raise the backend's error in every waiting reader, and send a new request for the next one."""
    backend.gate.clear()
    readers = [asyncio.ensure_future(barrier.revision()) for _ in range(5)]
    await settle()
    backend.broken = True
    backend.gate.set()
    results = await asyncio.gather(*readers, return_exceptions=True)
    backend.broken = False

    assert [type(result) for result in results] == [UnavailableError] * 5
    assert await barrier.revision() == 1


async def test_close_cancels_readers(backend: MemoryBackend, barrier: Barrier) -> None:
    """Cancel the waiting readers on close."""
    backend.gate.clear()
    asking = asyncio.ensure_future(barrier.revision())
    await settle()
    waiting = asyncio.ensure_future(barrier.revision())
    await settle()
    await barrier.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    asking.cancel()
