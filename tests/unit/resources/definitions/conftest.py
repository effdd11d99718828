"""Controllers of definitions over an embedded store with a cache, wired as in the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import service_unavailable
from apiext.base.meta.gvk import GroupResource
from apiext.resources.conversion.circuits import ConversionCircuits
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.codec import RESOURCE
from apiext.resources.definitions.controllers.definition_controllers import DefinitionControllers
from apiext.resources.definitions.definition import Definition
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionRest
from apiext.resources.registry.prune_guard import PruneGuard
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Item, Store
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.stored_bytes.version_counts import StoredCounts
from tests.support.event_loop import until
from tests.unit.resources.definitions.recorded import body, decoded


class FakeInstances:
    """Fake instances. Each definition has one that is deleted at once, and the number of others in `ControlledDefinitions.instances`."""

    def __init__(self, controlled: ControlledDefinitions) -> None:
        self._owner = controlled

    async def namespaces(self, definition: Definition) -> list[str]:
        """Implement Instances.namespaces."""
        controlled = self._owner
        if definition.name in controlled.unlistable:
            raise service_unavailable("no list")
        return ["default"] if definition.name not in controlled.deleting or controlled.instances.get(definition.name, 0) else []

    async def delete(self, definition: Definition, namespace: str) -> None:
        """Implement Instances.delete."""
        self._owner.deleting.append(definition.name)
        if definition.name in self._owner.undeletable:
            raise service_unavailable("no deletion")


async def _record_nothing(_existing: Object, _new: Object) -> None:
    """Leave the managedFields of the controllers' writes out."""


async def _count_nothing(_resource: GroupResource) -> StoredCounts:
    """Count no stored objects."""
    return StoredCounts({}, 0)


class ControlledDefinitions:
    """Catalog, informer and controllers of a store, with the REST storage of definitions."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.catalog = Catalog()
        self.instances: dict[str, int] = {}
        self.deleting: list[str] = []
        self.unlistable: set[str] = set()
        self.undeletable: set[str] = set()
        self.informer = DefinitionInformer(store, self.catalog)
        self.now = 100.0
        self.circuits = ConversionCircuits(clock=lambda: self.now)
        self.controllers = DefinitionControllers(self.informer, FakeInstances(self), _record_nothing, self.circuits)
        self.rest = CustomResourceDefinitionRest(
            store=store,
            codec=self.informer.codec,
            observe=self.informer.observe,
            forget=self.informer.forget,
            guard=PruneGuard(count=_count_nothing),
        )

    async def start(self) -> None:
        """Start the controllers and the informer."""
        self.controllers.start()
        await self.informer.start()

    async def close(self) -> None:
        """Stop them."""
        await self.informer.close()
        await self.controllers.close()

    @property
    def ctx(self) -> RequestContext:
        """Return the context of a request."""
        return RequestContext()

    async def create(self, plural: str = "foos", kind: str = "Foo", **names: Any) -> Item:
        """Create a definition."""
        crd = body(names={"plural": plural, "kind": kind, **names})
        crd["metadata"]["name"] = f"{plural}.example.com"
        return await self.rest.create(self.ctx, decoded(crd), CreateOptions())

    async def update(self, name: str, change: Callable[[Object], None]) -> Item:
        """Update a definition with a function that changes it in place."""

        async def updater(existing: Object) -> Object:
            crd = decoded(existing)
            change(crd)
            return crd

        return (await self.rest.update(self.ctx, name, updater, UpdateOptions()))[0]

    async def delete(self, name: str) -> tuple[Item, bool]:
        """Delete a definition."""
        return await self.rest.delete(self.ctx, name, DeleteOptions())

    async def until(self, name: str, test: Callable[[Definition | None], bool]) -> Definition | None:
        """Wait until a definition in the catalog fulfils a condition, and return it."""
        await until(lambda: test(self.catalog.get(name)))
        return self.catalog.get(name)

    async def established(self, name: str) -> Definition:
        """Wait until a definition is established."""
        definition = await self.until(name, lambda found: found is not None and found.is_established)
        assert definition is not None
        return definition

    async def serve(self) -> None:
        """Create foos.example.com, and wait until it is established."""
        await self.create()
        await self.established("foos.example.com")

    async def gone(self, name: str) -> None:
        """Wait until a definition is removed."""
        await self.until(name, lambda found: found is None)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield the store of definitions."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    stores = StoreFactory(backend)
    await stores.start()
    try:
        yield stores.store(RESOURCE)
    finally:
        await stores.close()
        await backend.close()


@pytest.fixture
async def controlled(store: Store) -> AsyncIterator[ControlledDefinitions]:
    """Yield running controllers."""
    controlled = ControlledDefinitions(store)
    await controlled.start()
    try:
        yield controlled
    finally:
        await controlled.close()
