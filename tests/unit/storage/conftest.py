"""A backend in memory, and stores of widgets over it."""

import logging
from collections.abc import AsyncIterator

import pytest

from apiext.storage.cacher import feed
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Store
from tests.support.builders.widgets import WIDGETS, WidgetCodec
from tests.support.event_loop import Clock
from tests.support.servers.memory_backend import MemoryBackend
from tests.support.servers.stores import direct_store, running_stores


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the caches."""
    return Clock()


@pytest.fixture
async def factory(backend: MemoryBackend, clock: Clock) -> AsyncIterator[StoreFactory]:
    """Yield stores with caches."""
    async with running_stores(backend, clock=clock) as running:
        yield running


@pytest.fixture
def store(factory: StoreFactory) -> CachedStore:
    """Return a store of widgets with a cache."""
    store = factory.store(WIDGETS)
    assert isinstance(store, CachedStore)
    return store


@pytest.fixture
def writer(backend: MemoryBackend) -> Store:
    """Return another server's store of widgets on the same backend, without a cache."""
    return direct_store(backend)


@pytest.fixture
def codec() -> WidgetCodec:
    """Return a codec of widgets."""
    return WidgetCodec()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Retry at once, and suppress the log."""
    monkeypatch.setattr(feed, "MIN_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(feed, "PROGRESS_AFTER_SECONDS", 0.001)
    monkeypatch.setattr(feed, "PROGRESS_INTERVAL_SECONDS", 0.001)
    caplog.set_level(logging.CRITICAL)
