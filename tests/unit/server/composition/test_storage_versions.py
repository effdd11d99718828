"""What a server tells others about the versions it writes."""

from collections.abc import AsyncIterator

import pytest

from apiext.server.composition import storage_versions
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import InProcess


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server of two definitions, one of which has several versions."""
    async with InProcess() as running:
        await running.define(crd("widgets"))
        await running.define(crd("gadgets", version("v1"), version("v2", storage=True), kind="Gadget"))
        yield running


async def test_names_the_version_of_each_definition(server: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name all definitions; of very many, only those that may be written in several versions."""
    found = storage_versions._encodings(server.catalog, server.cache)
    assert {name: encoding.version for name, encoding in found.items()} == {"widgets.example.com": "v1", "gadgets.example.com": "v2"}

    monkeypatch.setattr(storage_versions, "_MAX_DEFINITIONS", 1)
    assert list(storage_versions._encodings(server.catalog, server.cache)) == ["gadgets.example.com"]
