"""Fixtures of the adoption tests: worlds, with the host's etcd in memory."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from apiext.operator.adoption.host_etcd import HostStore
from apiext.storage.etcd.config import EtcdConfig
from tests.unit.operator.adoption.world import World


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apiext.operator.adoption.polling.RETRY_SECONDS", 0.0)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    """Return a factory of worlds; the etcd of the last one is the host's."""
    worlds: list[World] = []

    def make(*names: str) -> World:
        worlds.append(World(*names))
        return worlds[-1]

    @asynccontextmanager
    async def opened(_etcd: EtcdConfig, _encryption: Path | None = None) -> AsyncIterator[HostStore]:
        yield HostStore(worlds[-1].backend, "/registry")

    monkeypatch.setattr(HostStore, "open", opened)
    monkeypatch.setattr("apiext.operator.adoption.takeover.SETTLE_SECONDS", 0.0)
    monkeypatch.setattr("apiext.operator.adoption.takeover.HELD_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr("apiext.operator.adoption.handover.CLIENT_RESTART_SECONDS", 0.0)
    monkeypatch.setattr("apiext.operator.adoption.polling.TIMEOUT_SECONDS", 30.0)
    return make
