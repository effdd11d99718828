"""Stores of widgets over a backend of the tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from apiext.storage.backend import Backend
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Store
from tests.support.builders.widgets import WIDGETS


@asynccontextmanager
async def running_stores(backend: Backend, **settings: Any) -> AsyncIterator[StoreFactory]:
    """Yield stores that run until the end of the block: with caches and without compaction, unless `settings` say otherwise."""
    factory = StoreFactory(backend, **{"compaction_interval": 0, **settings})
    await factory.start()
    try:
        yield factory
    finally:
        await factory.close()


def direct_store(backend: Backend) -> Store:
    """Return another server's store of widgets on a backend, without a cache."""
    return StoreFactory(backend, watch_cache=False, compaction_interval=0).store(WIDGETS)
