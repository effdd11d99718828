"""Work that one server on a store does at a time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from apiext.storage.replicas.lock import ReplicaLock
from apiext.storage.replicas.roll_call import Replicas
from tests.support.servers.memory_backend import MemoryBackend

Start = Callable[[], Awaitable[tuple[Replicas, ReplicaLock]]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Yield a function that starts a server on one store, with its lock."""
    backend, started = MemoryBackend(), list[Replicas]()

    async def begin() -> tuple[Replicas, ReplicaLock]:
        replicas = Replicas(backend, "/registry", address="", release="", encodings=dict, is_sole=False, answer_seconds=0.1)
        await replicas.start()
        started.append(replicas)
        return replicas, ReplicaLock(backend, "/registry", replicas, "work")

    yield begin
    for replicas in started:
        await replicas.close()


async def test_has_one_holder(start: Start) -> None:
    """Give the lock to one live server until it releases it."""
    (_, one), (_, other) = await start(), await start()

    assert await one.acquire()
    assert await one.acquire()
    assert not await other.acquire()
    await other.release()
    assert not await other.acquire()
    await one.release()
    assert await other.acquire()


async def test_goes_to_all_tasks_of_a_server(start: Start) -> None:
    """Tell every task that asks at the same time that the server holds the lock, a new one and that of a dead server."""
    (holder, one), (_, other) = await start(), await start()

    assert await asyncio.gather(*(one.acquire() for _ in range(5))) == [True] * 5
    await holder.close()
    assert await asyncio.gather(*(other.acquire() for _ in range(5))) == [True] * 5
