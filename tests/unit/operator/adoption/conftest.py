"""The host's etcd as the world has it."""

from collections.abc import Callable

import pytest

from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.api_clients import HostEtcd
from tests.unit.operator.adoption.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Makes worlds; the last one's etcd is the host's."""
    worlds: list[World] = []

    def make(*names: str) -> World:
        worlds.append(World(*names))
        return worlds[-1]

    async def opened(_etcd: HostEtcd) -> HostStore:
        return HostStore(worlds[-1].backend, "/registry")

    async def close() -> None:
        """The world goes on."""

    monkeypatch.setattr(HostStore, "open", opened)
    monkeypatch.setattr("apiext.operator.adoption.polling.PATIENCE", 1.0)
    monkeypatch.setattr("tests.support.servers.memory_backend.MemoryBackend.close", lambda _self: close())
    return make
