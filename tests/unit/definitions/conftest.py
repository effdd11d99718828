"""Definitions over an embedded store, with a cache, as the server has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from apiext.definitions.catalog import Catalog
from apiext.definitions.codec import RESOURCE, CRDCodec
from apiext.definitions.controllers import Controllers
from apiext.definitions.definition import Definition
from apiext.meta.errors import service_unavailable
from apiext.meta.json_codec import Object
from apiext.meta.request import UserInfo
from apiext.registry.customresourcedefinition import CustomResourceDefinitionRest
from apiext.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Item, Store
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.unit.definitions.recorded import body, decoded


class Objects:
    """The instances of a house: each definition has one that goes when it is deleted, and those that `House.instances` says."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def places(self, definition: Definition) -> list[str]:
        """Implements Instances.places."""
        house = self._house
        if definition.name in house.broken:
            raise service_unavailable("no list")
        return ["default"] if definition.name not in house.deleting or house.instances.get(definition.name, 0) else []

    async def delete(self, definition: Definition, place: str) -> None:
        """Implements Instances.delete."""
        self._house.deleting.append(definition.name)
        if definition.name in self._house.stubborn:
            raise service_unavailable("no deletion")


class House:
    """A catalogue with its controllers and the REST of definitions."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.catalog = Catalog()
        self.instances: dict[str, int] = {}
        self.deleting: list[str] = []
        self.broken: set[str] = set()
        self.stubborn: set[str] = set()
        codec = CRDCodec()
        self.controllers = Controllers(store, self.catalog, Objects(self), codec=codec)
        self.rest = CustomResourceDefinitionRest(store, codec=codec, observe=self.controllers.observe, forget=self.controllers.forget)

    @property
    def ctx(self) -> RequestContext:
        """A request."""
        return RequestContext(user=UserInfo("tester"))

    async def create(self, plural: str = "foos", kind: str = "Foo", **names: Any) -> Item:
        """Create a definition."""
        crd = body(names={"plural": plural, "kind": kind, **names})
        crd["metadata"]["name"] = f"{plural}.example.com"
        return await self.rest.create(self.ctx, decoded(crd), CreateOptions())

    async def update(self, name: str, change: Callable[[Object], None]) -> Item:
        """Change a definition in place."""

        async def updater(existing: Object) -> Object:
            crd = decoded(existing)
            change(crd)
            return crd

        return (await self.rest.update(self.ctx, name, updater, UpdateOptions()))[0]

    async def delete(self, name: str) -> tuple[Item, bool]:
        """Ask for a deletion."""
        return await self.rest.delete(self.ctx, name, DeleteOptions())

    async def until(self, name: str, test: Callable[[Definition | None], bool]) -> Definition | None:
        """Wait for the catalogue to have a definition as a test wants it."""
        changed = asyncio.Event()
        unsubscribe = self.catalog.subscribe(lambda _old, _new: changed.set())
        try:
            async with asyncio.timeout(30):
                while not test(self.catalog.get(name)):
                    await changed.wait()
                    changed.clear()
        finally:
            unsubscribe()
        return self.catalog.get(name)

    async def established(self, name: str) -> Definition:
        """Wait until a definition is established."""
        definition = await self.until(name, lambda found: found is not None and found.is_established)
        assert definition is not None
        return definition

    async def gone(self, name: str) -> None:
        """Wait until a definition is not there any more."""
        await self.until(name, lambda found: found is None)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """The store of definitions."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    stores = StoreFactory(backend)
    await stores.start()
    try:
        yield stores.store(RESOURCE)
    finally:
        await stores.close()
        await backend.close()


@pytest.fixture
async def house(store: Store) -> AsyncIterator[House]:
    """Controllers at work."""
    house = House(store)
    await house.controllers.start()
    try:
        yield house
    finally:
        await house.controllers.close()
