"""What a server tells others about the versions it writes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiext.server.composition import storage_versions
from apiext.server.options.options import StorageOptions
from apiext.storage.backend import BackendError
from apiext.storage.backends.unfinished_restore import RESTORE_RECORD
from apiext.storage.replicas.host_records import HostRecords
from apiext.storage.replicas.replica import ReplicaEncoding
from apiext.storage.replicas.roll_call import Replicas
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import InProcess


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server of two definitions, one of which has several versions."""
    async with InProcess() as running:
        await running.define(crd("widgets"))
        await running.define(crd("gadgets", version("v1"), version("v2", storage=True), kind="Gadget"))
        yield running


async def _encodings(server: InProcess) -> Mapping[str, ReplicaEncoding]:
    """Return what a server tells others."""
    async with AsyncExitStack() as stack:
        options = StorageOptions(data_dir=Path("unused"))
        replicas = await storage_versions.start_replicas(options, "https://a", server.catalog, server.cache, stack)
        (own,) = await replicas.roll_call()
        return own.encodings


async def test_names_the_version_of_each_definition(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name all definitions; of very many, only those that may be written in several versions."""
    found = await _encodings(server)
    assert {name: encoding.version for name, encoding in found.items()} == {"widgets.example.com": "v1", "gadgets.example.com": "v2"}

    monkeypatch.setattr(storage_versions, "MAX_DEFINITIONS", 1)
    assert list(await _encodings(server)) == ["gadgets.example.com"]


async def test_refuses_a_restoration_that_has_begun(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a start if a restoration has begun after the store was opened, and before this server was recorded there."""
    backend, start = server.cache.stores.backend, Replicas.start

    async def late(replicas: Replicas) -> None:
        await HostRecords(backend, "/registry").put(RESTORE_RECORD, {})
        await start(replicas)

    monkeypatch.setattr(Replicas, "start", late)
    async with AsyncExitStack() as stack:
        with pytest.raises(BackendError, match="unfinished restoration"):
            await storage_versions.start_replicas(StorageOptions(data_dir=Path("unused")), "https://a", server.catalog, server.cache, stack)
