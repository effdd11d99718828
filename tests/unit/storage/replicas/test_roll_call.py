"""The register of the servers on a store."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import UnavailableError
from apiext.storage.replicas.replica import ReplicaEncoding
from apiext.storage.replicas.roll_call import Replicas
from tests.support.event_loop import tasks_of, until
from tests.support.servers.memory_backend import MemoryBackend

WIDGETS = "widgets.example.com"
Start = Callable[..., Awaitable[Replicas]]


@pytest.fixture
async def start(backend: MemoryBackend) -> AsyncIterator[Start]:
    """Yield a function that starts a server which writes widgets in one version."""
    started: list[Replicas] = []

    async def begin(version: str = "v1", revision: int = 5, **settings: Any) -> Replicas:
        encodings = {WIDGETS: ReplicaEncoding(version, revision)}
        options: dict[str, Any] = {"address": f"https://{version}", "release": "1", "is_sole": False, "encodings": lambda: encodings}
        replicas = Replicas(backend, "/registry", **options | settings)
        await replicas.start()
        started.append(replicas)
        return replicas

    yield begin
    for replicas in started:
        await replicas.close()


async def _records(backend: MemoryBackend) -> list[str]:
    return [pair.key for pair in (await backend.list("/registry/apiext/replicas/members/")).items]


async def test_returns_what_every_server_writes(start: Start) -> None:
    """Return each live server with the version it writes when it is asked, not when it started."""
    encodings = {WIDGETS: ReplicaEncoding("v1", 5)}
    one, other = await start("v2", 7), await start(encodings=lambda: encodings)

    for asking in (one, other):
        found = {replica.id: replica for replica in await asking.roll_call()}
        assert found.keys() == {one.id, other.id}
        assert found[one.id].writes(WIDGETS, "v2", since=7)
        assert not found[one.id].writes(WIDGETS, "v2", since=8)
        assert not found[other.id].writes(WIDGETS, "v2", since=5)
        assert not found[other.id].writes("gadgets.example.com", "v1", since=0)

    encodings[WIDGETS] = ReplicaEncoding("v2", 9)
    assert all(replica.writes(WIDGETS, "v2", since=7) for replica in await one.roll_call())


async def test_answers_many_calls_at_once(start: Start) -> None:
    """Answer all servers that ask at the same time."""
    servers = [await start() for _ in range(3)]
    answers = await asyncio.gather(*(server.roll_call() for server in servers * 2))
    assert [len(answer) for answer in answers] == [3] * 6


async def test_writes_nothing_while_nobody_asks(start: Start, backend: MemoryBackend) -> None:
    """Write one record at the start and one answer for each server and call."""
    one, _ = await start(), await start()
    await one.roll_call()
    before = await backend.revision()
    await one.roll_call()
    assert await backend.revision() == before + 3


async def test_forgets_dead_servers(start: Start, backend: MemoryBackend) -> None:
    """Leave out a server that does not answer, and remove its record."""
    await end_tasks(*await tasks_of(start("v1", answer_seconds=0.01)))
    live = await start("v2", answer_seconds=0.2)

    assert [replica.id for replica in await live.roll_call()] == [live.id]
    assert await _records(backend) == [f"/registry/apiext/replicas/members/{live.id}"]


async def test_returns_from_the_dead(start: Start, backend: MemoryBackend) -> None:
    """Record a server again that another one has taken for dead."""
    one, other = await start(), await start()
    key = f"/registry/apiext/replicas/members/{other.id}"
    pair, _ = await backend.get(key)
    assert pair is not None
    await backend.delete(key, expected=pair.revision)
    await until(lambda: key in backend.state)
    assert {replica.id for replica in await one.roll_call()} == {one.id, other.id}


async def test_removes_its_record_at_the_end(start: Start, backend: MemoryBackend) -> None:
    """Leave no record behind after a graceful end, so that nobody waits for it."""
    one, other = await start(), await start()
    await other.close()
    assert [replica.id for replica in await one.roll_call()] == [one.id]
    await one.close()
    assert await _records(backend) == []


async def test_takes_nobody_for_dead_when_its_own_watch_lags(start: Start, backend: MemoryBackend) -> None:
    """Raise UnavailableError, and keep the records of others, while the store sends no events."""
    one, _ = await start(answer_seconds=0.05), await start()
    backend.deaf = True
    with pytest.raises(UnavailableError):
        await one.roll_call()
    assert len(await _records(backend)) == 2


async def test_follows_again_after_a_failure(start: Start, backend: MemoryBackend) -> None:
    """Answer again once the store does."""
    one, other = await start(), await start()
    backend.broken = True
    with pytest.raises(UnavailableError):
        await one.roll_call()
    backend.broken = False
    assert {replica.id for replica in await other.roll_call()} == {one.id, other.id}


async def test_keeps_servers_of_other_releases(start: Start, backend: MemoryBackend) -> None:
    """Return a server without encodings if only its answer can be read; drop a record of which nothing can be read."""
    one = await start(answer_seconds=0.05)
    for name, value in (("later", b'{"answered":99}'), ("broken", b"{")):
        await backend.create(f"/registry/apiext/replicas/members/{name}", value)
    found = {replica.id: replica for replica in await one.roll_call()}
    assert found.keys() == {one.id, "later"}
    assert not found["later"].writes(WIDGETS, "v1", since=0)


async def test_is_alone_on_its_own_store(start: Start, backend: MemoryBackend) -> None:
    """Write nothing on a store of one process."""
    before = await backend.revision()
    sole = await start(is_sole=True)
    (replica,) = await sole.roll_call()
    assert replica.writes(WIDGETS, "v1", since=5)
    assert await backend.revision() == before
