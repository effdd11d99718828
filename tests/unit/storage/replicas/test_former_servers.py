"""Servers of this release beside those of an earlier one, which keep their records below `<prefix>/apiext.dev/`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.replicas.lock import ReplicaLock
from apiext.storage.replicas.replica import ReplicaEncoding
from apiext.storage.replicas.roll_call import Replicas
from tests.support.event_loop import tasks_of, until
from tests.support.servers.former_server import FOLDER, FormerServer
from tests.support.servers.memory_backend import MemoryBackend

WIDGETS = "widgets.example.com"
Start = Callable[..., Awaitable[Replicas]]


@pytest.fixture
async def start(backend: MemoryBackend) -> AsyncIterator[Start]:
    """Yield a function that starts a server of this release."""
    started: list[Replicas] = []

    async def begin(**settings: Any) -> Replicas:
        encodings = {WIDGETS: ReplicaEncoding("v2", 9)}
        options: dict[str, Any] = {"address": "", "release": "1", "is_sole": False, "encodings": lambda: encodings, "answer_seconds": 5}
        replicas = Replicas(backend, "/registry", **options | settings)
        await replicas.start()
        started.append(replicas)
        return replicas

    yield begin
    for replicas in started:
        await replicas.close()


@pytest.fixture
async def former(backend: MemoryBackend) -> AsyncIterator[FormerServer]:
    """Yield a running server of an earlier release."""
    server = FormerServer(backend, {WIDGETS: ReplicaEncoding("v1", 7)})
    await server.start()
    yield server
    await server.close()


def former_keys(backend: MemoryBackend) -> list[str]:
    """Return the keys at the former place."""
    return [key.removeprefix(FOLDER) for key in backend.state if key.startswith(FOLDER)]


async def test_both_releases_see_each_other(start: Start, former: FormerServer) -> None:
    """Return all servers with what they write, whichever of them asks, and each of them once."""
    one, other = await start(), await start()
    answers = [await asking.roll_call() for asking in (former, one, other)]

    assert [sorted(replica.id for replica in answer) for answer in answers] == [sorted([former.id, one.id, other.id])] * 3
    for answer in answers:
        assert {replica.id for replica in answer if replica.writes(WIDGETS, "v1", since=7)} == {former.id}
        assert {replica.id for replica in answer if replica.writes(WIDGETS, "v2", since=9)} == {one.id, other.id}


async def test_an_earlier_release_starts_later(start: Start, backend: MemoryBackend) -> None:
    """Leave the former place empty until a server of an earlier release appears there, then be seen by it."""
    one = await start()
    assert (former_keys(backend), one.has_former) == ([], False)
    former = FormerServer(backend)
    await former.start()
    await until(lambda: f"replicas/members/{one.id}" in former_keys(backend))

    assert one.has_former
    assert {replica.id for replica in await former.roll_call()} == {one.id, former.id}
    await former.close()


async def test_the_end_of_the_earlier_release(start: Start, former: FormerServer, backend: MemoryBackend) -> None:
    """Write nothing at the former place any more, and leave nothing there, when the last server of an earlier release has gone."""
    servers = [await start(), await start()]
    for server in servers:
        await server.roll_call()
    await former.roll_call()
    await former.close()
    await until(lambda: not former_keys(backend))
    before = await backend.revision()

    assert {replica.id for replica in await servers[0].roll_call()} == {one.id for one in servers}
    assert await backend.revision() == before + 3
    assert former_keys(backend) == []


async def test_the_death_of_the_earlier_release(start: Start, former: FormerServer, backend: MemoryBackend) -> None:
    """Find at the start, or with the next roll call, that servers of an earlier release are gone without notice."""
    one = await start(answer_seconds=0.2)
    await former.roll_call()
    former.kill()
    assert [replica.id for replica in await one.roll_call()] == [one.id]
    await until(lambda: not former_keys(backend))
    dead = FormerServer(backend, name="dead")
    await dead.start()
    dead.kill()
    other = await start(answer_seconds=0.2)
    await until(lambda: not former_keys(backend))

    assert not other.has_former
    assert {replica.id for replica in await other.roll_call()} == {one.id, other.id}


async def test_the_copy_of_a_dead_server(start: Start, former: FormerServer, backend: MemoryBackend) -> None:
    """Take what a dead server of this release left at the former place for no server of an earlier one."""
    tasks = await tasks_of(start())
    await until(lambda: sum("/members/" in key for key in former_keys(backend)) == 2)
    await end_tasks(*tasks)
    await former.close()
    one = await start(answer_seconds=0.2)

    assert not one.has_former
    assert [replica.id for replica in await one.roll_call()] == [one.id]
    assert former_keys(backend) == []


@pytest.mark.parametrize(
    "value",
    [
        b'{"apiVersion":"apiext.dev/v1","kind":"Replica","answered":99,"encodings":{},"address":"","release":"","started":"","by":"x"}\n',
        b'{"apiVersion":"","answered":1}',
        b"[]",
        b"{",
        b"",
        b"k8s:enc:aescbc:v1:key1:x",
        b"\xd9\xd9\xf7\xa0",
    ],
)
async def test_objects_are_no_servers(start: Start, backend: MemoryBackend, value: bytes) -> None:
    """Wait for no object that a client stored where servers of earlier releases keep records, and leave it there."""
    for key in ("members/x", "call", "default/x"):
        await backend.create(f"{FOLDER}replicas/{key}", value)
    one = await start()

    assert not one.has_former
    assert [replica.id for replica in await one.roll_call()] == [one.id]
    assert len(former_keys(backend)) == 3


async def _hold(backend: MemoryBackend, holder: str) -> None:
    pair, _ = await backend.get(f"{FOLDER}migration")
    value = b'{"holder":"%s"}\n' % holder.encode()
    if pair is None:
        await backend.create(f"{FOLDER}migration", value)
    else:
        await backend.update(f"{FOLDER}migration", value, expected=pair.revision)


async def test_a_lock_of_both_releases(start: Start, former: FormerServer, backend: MemoryBackend) -> None:
    """Leave a lock to a live server of an earlier release, and show it what this server holds, until it releases it."""
    one = await start(answer_seconds=0.2)
    lock = ReplicaLock(backend, "/registry", one, "migration")
    await _hold(backend, former.id)
    assert not await lock.acquire()
    assert "/registry/apiext/migration" not in backend.state
    await _hold(backend, "dead")
    assert await lock.acquire()
    holders = [backend.state[key].value for key in ("/registry/apiext/migration", f"{FOLDER}migration")]
    await lock.release()

    assert holders == [b'{"holder":"%s"}\n' % one.id.encode()] * 2
    assert not any(key.endswith("/migration") for key in backend.state)


async def test_a_lock_of_this_release_only(start: Start, backend: MemoryBackend) -> None:
    """Write no lock at the former place without a server of an earlier release."""
    one = await start()
    assert await ReplicaLock(backend, "/registry", one, "migration").acquire()

    assert former_keys(backend) == []


@pytest.mark.usefixtures("former")
async def test_a_lock_that_earlier_releases_lack(start: Start, backend: MemoryBackend) -> None:
    """Write no lock at the former place that no earlier release takes: nobody would remove it."""
    one = await start()
    assert await ReplicaLock(backend, "/registry", one, "work").acquire()

    assert one.has_former
    assert not [key for key in former_keys(backend) if not key.startswith("replicas/")]
