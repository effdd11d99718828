"""Fixtures of the stores under test, apart from those of the backends."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from apiext.storage.backend import Backend
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Store
from tests.support.builders.widgets import WIDGETS, WidgetCodec

MakeFactory = Callable[..., Awaitable[StoreFactory]]


@pytest.fixture
def codec() -> WidgetCodec:
    """Return the codec of widgets in their storage version."""
    return WidgetCodec()


@pytest.fixture(params=["direct", "cached"])
async def make_factory(request: pytest.FixtureRequest, backend: Backend, prefix: str) -> AsyncIterator[MakeFactory]:
    """Yield a function that starts store factories over the backend, with or without caches."""
    factories: list[StoreFactory] = []

    async def make(**settings: Any) -> StoreFactory:
        factory = StoreFactory(backend, prefix=prefix, watch_cache=request.param == "cached", compaction_interval=0, **settings)
        factories.append(factory)
        await factory.start()
        return factory

    yield make
    for factory in factories:
        await factory.close()


@pytest.fixture
async def factory(make_factory: MakeFactory) -> StoreFactory:
    """Return one factory."""
    return await make_factory()


@pytest.fixture
def store(factory: StoreFactory) -> Store:
    """Return an empty store of widgets."""
    return factory.store(WIDGETS)
