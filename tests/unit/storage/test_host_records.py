"""A store remembers the cluster that it belongs to."""

import asyncio

import pytest

from apiext.storage.backend import BackendError
from apiext.storage.host_records import HostRecords
from tests.support.servers.memory_backend import MemoryBackend


async def test_one_cluster() -> None:
    """The first cluster that asks has the store, whichever server it asks through, and for ever."""
    backend = MemoryBackend()
    servers = [HostRecords(backend, prefix) for prefix in ("/registry", "registry/", "/registry")]
    claimed = await asyncio.gather(*(records.claim(f"uid-{number}") for number, records in enumerate(servers)))

    assert set(claimed) == {claimed[0]}
    assert await HostRecords(backend, "/registry").claim("another") == claimed[0]
    assert await HostRecords(backend, "/other").claim("another") == "another"
    pair, _ = await backend.get("/registry/apiext.dev/host")
    assert pair is not None
    assert pair.value == b'{"uid":"%s"}\n' % claimed[0].encode()


async def test_authentication() -> None:
    """What was remembered last is recalled; the same again is not written."""
    backend = MemoryBackend()
    records = HostRecords(backend, "/registry")
    assert await records.authentication() is None
    for said in ({"data": {"a": "1"}}, {"data": {"a": "2"}}):
        await records.remember_authentication(said)
        revision = await backend.revision()
        await records.remember_authentication(dict(said))
        assert (await records.authentication(), await backend.revision()) == (said, revision)


@pytest.mark.parametrize("value,problem", [(b"{", "is no JSON"), (b"[]", "is no object"), (b"{}", "does not tell which cluster")])
async def test_records_that_cannot_be_understood(value: bytes, problem: str) -> None:
    """They are told with their key, and not overwritten."""
    backend = MemoryBackend()
    await backend.create("/registry/apiext.dev/host", value)
    with pytest.raises(BackendError, match=f"/registry/apiext.dev/host {problem}"):
        await HostRecords(backend, "/registry").claim("uid")
