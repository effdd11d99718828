"""Fixtures of the adoption tests: worlds, with the host's etcd in memory."""

from collections.abc import Callable

import pytest

from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.options import HostEtcdConfig
from tests.unit.operator.adoption.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Return a factory of worlds; the etcd of the last one is the host's."""
    worlds: list[World] = []

    def make(*names: str) -> World:
        worlds.append(World(*names))
        return worlds[-1]

    async def opened(_etcd: HostEtcdConfig) -> HostStore:
        return HostStore(worlds[-1].backend, "/registry")

    async def close() -> None:
        """Do nothing: the backend is used again."""

    monkeypatch.setattr(HostStore, "open", opened)
    monkeypatch.setattr("apiext.operator.adoption.polling.TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr("tests.support.servers.memory_backend.MemoryBackend.close", lambda _self: close())
    return make
