"""Records about the host cluster of a store."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from apiext.storage.backend import BackendError
from apiext.storage.replicas.host_records import HostRecords
from tests.support.servers.memory_backend import MemoryBackend


async def test_keeps_the_first_cluster(backend: MemoryBackend) -> None:
    """Keep the uid of the first cluster for all servers."""
    servers = [HostRecords(backend, prefix) for prefix in ("/registry", "registry/", "/registry")]
    claimed = await asyncio.gather(*(records.claim(f"uid-{number}") for number, records in enumerate(servers)))

    assert set(claimed) == {claimed[0]}
    assert await HostRecords(backend, "/registry").claim("another") == claimed[0]
    assert await HostRecords(backend, "/other").claim("another") == "another"
    pair, _ = await backend.get("/registry/apiext/host")
    assert pair is not None
    assert pair.value == b'{"uid":"%s"}\n' % claimed[0].encode()


async def test_records_the_authentication(backend: MemoryBackend) -> None:
    """Return the last recorded ConfigMap; do not write an equal one."""
    records = HostRecords(backend, "/registry")
    assert await records.authentication() is None
    for said in ({"data": {"a": "1"}}, {"data": {"a": "2"}}):
        await records.remember_authentication(said)
        revision = await backend.revision()
        await records.remember_authentication(dict(said))
        assert (await records.authentication(), await backend.revision()) == (said, revision)


async def test_changes_of_several_servers(backend: MemoryBackend) -> None:
    """Lose no change that another server makes between the read and the write; do not write without a change."""
    servers = [HostRecords(backend, "/registry") for _ in range(4)]

    def adding(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda known: {**known, name: 1}

    await asyncio.gather(*(records.change("x", adding(f"s{number}")) for number, records in enumerate(servers)))
    revision = await backend.revision()
    await servers[0].change("x", dict)

    assert await servers[0].get("x") == dict.fromkeys(["s0", "s1", "s2", "s3"], 1)
    assert await backend.revision() == revision


@pytest.mark.parametrize("value,problem", [(b"{", "is not JSON"), (b"[]", "is not an object"), (b"{}", "has no uid")])
async def test_rejects_invalid_records(backend: MemoryBackend, value: bytes, problem: str) -> None:
    """Name the key of an invalid record, and do not overwrite it."""
    await backend.create("/registry/apiext/host", value)
    with pytest.raises(BackendError, match=f"/registry/apiext/host {problem}"):
        await HostRecords(backend, "/registry").claim("uid")
