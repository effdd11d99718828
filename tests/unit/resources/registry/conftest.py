"""A registry of widgets over an embedded store without a cache."""

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.builtin_resources import EVENTS
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupResource, GroupVersionKind
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.registry.builtin.events import EVENT_KIND
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy, ScalePaths, StatusStrategy
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.resources.registry.rest import ResourceRest
from apiext.schema.compiled import CompiledSchema
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Item, Preconditions, Store
from apiext.storage.sqlite.backend import SQLiteBackend

SPEC = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "color": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
}
STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}
KIND = GroupVersionKind("example.com", "v1", "Widget")
RESOURCE = GroupResource("example.com", "widgets")
SCALE = ScalePaths(".spec.replicas", ".status.replicas", ".status.selector")
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def schema(**more: Any) -> CompiledSchema:
    """Return the schema of widgets with more properties of the spec."""
    spec = {**SPEC, "properties": {**SPEC["properties"], **more}}  # type: ignore[dict-item]
    return CompiledSchema({"type": "object", "properties": {"spec": spec, "status": STATUS}})


class Widgets:
    """Widgets as a client sees them: bodies in, objects out."""

    def __init__(self, store: Store, *, has_status: bool = True, namespaced: bool = True) -> None:
        rules = schema(size={"type": "string", "default": "small"})
        self.codec = CustomResourceCodec(
            kind=KIND,
            storage_version="v1",
            schemas={"v1": rules},
            converter=NoneConverter(),
            namespaced=namespaced,
            selectable_fields=[".spec.color"],
        )
        self.strategy = CustomResourceStrategy(kind=KIND, namespaced=namespaced, rules=rules, has_status=has_status, scale=SCALE)
        self.rest = ResourceRest(
            store=store,
            codec=self.codec,
            strategy=self.strategy,
            resource=RESOURCE,
            namespaced=namespaced,
        )
        self.status_rest = dataclasses.replace(self.rest, strategy=StatusStrategy(self.strategy))
        self.ctx = RequestContext(namespace="default" if namespaced else "")

    def body(self, name: str = "", /, **members: Any) -> Object:
        """Return a decoded body; `metadata` adds to the name."""
        metadata = members.pop("metadata", {})
        obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {**({"name": name} if name else {}), **metadata}, **members}
        self.codec.decode_body(obj, False)
        return obj

    async def create(self, name: str = "", /, *, options: CreateOptions | None = None, **members: Any) -> Object:
        """Create a widget."""
        return (await self.rest.create(self.ctx, self.body(name, **members), options or CreateOptions())).object()

    async def get(self, name: str) -> Object:
        """Read a widget."""
        return (await self.rest.get(self.ctx, name)).object()

    async def put(self, obj: Object, *, rest: Any = None, name: str = "", options: UpdateOptions | None = None) -> Object:
        """Replace a widget, as a PUT does."""

        async def replace(_existing: Object) -> Object:
            return obj

        item, _ = await (rest or self.rest).update(self.ctx, name or obj["metadata"]["name"], replace, options or UpdateOptions())
        return as_object(item)

    async def delete(self, name: str, **options: Any) -> tuple[Object, bool]:
        """Delete a widget; return its last state, and whether it is deleted."""
        if uid := options.pop("uid", None):
            options["preconditions"] = Preconditions(uid=uid)
        item, gone = await self.rest.delete(self.ctx, name, DeleteOptions(**options))
        return item.object(), gone


def as_object(item: Item) -> Object:
    """Return the object that a client reads."""
    return item.object()


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[StoreFactory]:
    """Yield stores without a cache."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    yield StoreFactory(backend, watch_cache=False)
    await backend.close()


@pytest.fixture
def store(stores: StoreFactory) -> Store:
    """Return a store of widgets."""
    return stores.store(RESOURCE)


@pytest.fixture
def events(stores: StoreFactory) -> ResourceRest:
    """Return the verbs of events over a store."""
    return EVENT_KIND.rest(stores.store(EVENTS.stored_resource))


@pytest.fixture
async def widgets(store: Store) -> Widgets:
    """Return namespaced widgets with status and scale."""
    return Widgets(store)
