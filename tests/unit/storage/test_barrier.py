"""The shared question for the store's revision."""

import asyncio

import pytest

from apiext.storage.backend import UnavailableError
from apiext.storage.barrier import Barrier
from tests.support.servers.memory_backend import MemoryBackend


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_reader_asks() -> None:
    """A reader alone asks for itself."""
    backend = MemoryBackend()

    assert await Barrier(backend).revision() == 1
    assert backend.calls == {"revision": 1}


async def test_readers_share_the_next_question() -> None:
    """Whoever comes while a question is on its way waits for the next one, which all of them share."""
    backend = MemoryBackend()
    barrier = Barrier(backend)
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


async def test_readers_of_one_moment_share_a_question() -> None:
    """Those who come before anything is asked, all in one turn of the loop, ask once."""
    backend = MemoryBackend()
    barrier = Barrier(backend)

    assert await asyncio.gather(*(barrier.revision() for _ in range(100))) == [1] * 100
    assert backend.calls == {"revision": 1}


async def test_a_reader_that_goes_away() -> None:
    """Neither the one who asks nor one who waits takes the answer from the others by going away."""
    backend = MemoryBackend()
    barrier = Barrier(backend)
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


async def test_failure_reaches_all() -> None:
    """When the backend does not answer, everybody who waited learns it, and the next reader asks anew."""
    backend = MemoryBackend()
    barrier = Barrier(backend)
    backend.gate.clear()
    readers = [asyncio.ensure_future(barrier.revision()) for _ in range(5)]
    await settle()
    backend.broken = True
    backend.gate.set()
    results = await asyncio.gather(*readers, return_exceptions=True)
    backend.broken = False

    assert [type(result) for result in results] == [UnavailableError] * 5
    assert await barrier.revision() == 1


async def test_close() -> None:
    """Who waits when the barrier is closed does not wait for ever."""
    backend = MemoryBackend()
    barrier = Barrier(backend)
    backend.gate.clear()
    asking = asyncio.ensure_future(barrier.revision())
    await settle()
    waiting = asyncio.ensure_future(barrier.revision())
    await settle()
    await barrier.close()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    asking.cancel()
