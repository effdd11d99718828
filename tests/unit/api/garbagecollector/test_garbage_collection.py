"""Turns of servers that could collect."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from apiext.api.garbagecollector import garbage_collection
from apiext.api.garbagecollector.garbage_collection import GarbageCollection
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import UnavailableError
from tests.support.event_loop import settle, until
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import running_stores
from tests.unit.api.garbagecollector.test_garbage_collector import Collection


class Lock:
    """A lock that is taken in some turns; the last answer repeats."""

    def __init__(self, answers: Iterable[bool | Exception]) -> None:
        self.answers = list(answers)

    async def acquire(self) -> bool:
        """Implement ReplicaLock.acquire."""
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let turns follow each other without a pause."""
    monkeypatch.setattr(garbage_collection, "until_tick", lambda _seconds: settle(2))
    monkeypatch.setattr(garbage_collection, "PAUSES", (0, 0))


@pytest.mark.parametrize(
    "answers, leads",
    [
        ([False, True], True),
        ([True, False], False),
        ([True, UnavailableError("gone"), True], True),
        ([UnavailableError("gone"), True], True),
    ],
)
async def test_turns(answers: list[bool | Exception], leads: bool) -> None:  # noqa: FBT001 -- a parameter
    """Collect while this server has the lock, and go on while the store does not answer."""
    backend = MemoryBackend()
    async with running_stores(backend) as stores:
        collection = GarbageCollection(lambda: Collection(backend, stores).collector, stores, cast("Any", lock := Lock(answers)))
        running = asyncio.create_task(collection.run())

        await until(lambda: len(lock.answers) == 1 and collection.leads is leads)
        await settle()
        assert collection.leads is leads
        await end_tasks(running)
        assert not collection.leads


async def test_starts_again_after_lost_changes() -> None:
    """Use a new collector when changes were lost."""
    backend = MemoryBackend()
    made: list[Collection] = []
    async with running_stores(backend) as stores:

        def make() -> Any:
            made.append(Collection(backend, stores))
            return made[-1].collector

        collection = GarbageCollection(make, stores, None)
        running = asyncio.create_task(collection.run())
        await until(lambda: made)
        await settle()
        await made[0].collector.builder.reload(1)
        await until(lambda: len(made) == 2 and collection.leads)

        assert collection.followed == 0
        await end_tasks(running)
