"""Helpers of the storage tests: widgets to store, a codec for them, and a reader of watches."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupResource, GroupVersionKind
from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.base.workers.server_link import ServerLink
from apiext.storage.interface import Conversion, EncodedObject, Event, EventType, Item, RemoteCodec, Selection, Store, Watch, WatchOptions
from tests.support.builders import crds

WIDGETS = GroupResource("example.com", "widgets")


class WidgetCodec:
    """Implements storage.interface.Codec for widgets without a schema, in any version; stored as v1."""

    def __init__(self, version: str = "v1", *, conversion: Conversion | None = None, remote: RemoteCodec | None = None) -> None:
        self.gvk = GroupVersionKind("example.com", version, "Widget")
        self.cbor = False
        self.conversion = conversion
        self.remote = remote
        self.decoded = 0

    def encode(self, obj: json_codec.Object) -> EncodedObject:
        """Encode the object as v1 without its resourceVersion."""
        metadata = {name: member for name, member in obj["metadata"].items() if name != "resourceVersion"}
        return EncodedObject(json_codec.dumps(obj | {"apiVersion": "example.com/v1", "metadata": metadata}) + b"\n")

    def decode(self, data: bytes) -> json_codec.Object:
        """Decode the object in the version of this codec, with a default.

        Raises:
            ValueError: The data is no widget.
        """
        self.decoded += 1
        obj: json_codec.Object = json_codec.loads(data)
        if obj["kind"] != "Widget":
            raise ValueError("not a widget")
        if self.gvk.version != "v1":
            obj.setdefault("spec", {}).setdefault("size", "medium")
        return obj | {"apiVersion": self.gvk.api_version}

    def recall(self, obj: json_codec.Object) -> None:
        """Implement Codec.recall: do nothing."""

    def decode_unchanged(self, data: bytes) -> None:
        """Implement Codec.decode_unchanged: unknown."""

    def fields(self, obj: json_codec.Object) -> dict[str, str]:
        """Return name, namespace and spec.color."""
        metadata = obj["metadata"]
        return {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata.get("namespace", ""),
            "spec.color": obj.get("spec", {}).get("color", ""),
        }


def build_widget_codec(_: ServerLink, version: str) -> WidgetCodec:
    """Return the codec of a version in a worker process."""
    return WidgetCodec(version)


def widget(key: str, *, labels: dict[str, str] | None = None, **spec: Any) -> json_codec.Object:
    """Return a widget to store under the key `namespace/name` or `name`."""
    namespace, _, name = key.rpartition("/")
    metadata: json_codec.Object = {"uid": f"uid-of-{name}"}
    if namespace:
        metadata["namespace"] = namespace
    if labels is not None:
        metadata["labels"] = labels
    return crds.widget(name, metadata=metadata, **spec)


def labelled(selector: str) -> Selection:
    """Return a selection by labels."""
    return Selection(labels=parse_label_selector(selector))


def where(selector: str) -> Selection:
    """Return a selection by fields."""
    return Selection(fields=parse_field_selector(selector))


async def change(store: Store, codec: WidgetCodec, key: str, **spec: Any) -> Item:
    """Update members of a widget's spec."""

    async def update(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"].update(spec)
        return obj

    return (await store.guaranteed_update(key, codec, update))[0]


async def relabel(store: Store, codec: WidgetCodec, key: str, **labels: str) -> Item:
    """Replace the labels of a widget."""

    async def update(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["metadata"]["labels"] = labels
        return obj

    return (await store.guaranteed_update(key, codec, update))[0]


def seen(event: Event) -> tuple[str, str, int]:
    """Return type, key and revision of an event."""
    return event.type.value, event.item.key if event.item is not None else "", event.revision


def error_code(event: Event) -> int:
    """Return the code of an ERROR event, 0 for other events."""
    return int(json_codec.loads(event.line)["object"]["code"]) if event.type is EventType.ERROR else 0


class Reader:
    """Reads the events of a watch one by one, with a timeout."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._events = aiter(watch)
        self._ahead: list[Event] = []

    async def next(self) -> Event:
        """Return the next event.

        Raises:
            StopAsyncIteration: The watch ended.
        """
        if not self._ahead:
            async with asyncio.timeout(30):
                self._ahead = list(await anext(self._events))
        return self._ahead.pop(0)

    async def take(self, count: int) -> list[tuple[str, str, int]]:
        """Return type, key and revision of the next events."""
        return [seen(await self.next()) for _ in range(count)]

    async def until(self, enough: Callable[[Event], bool]) -> list[Event]:
        """Return the events up to the first for which `enough` is true; no error may be before it."""
        events = [await self.next()]
        while not enough(events[-1]):
            assert events[-1].type is not EventType.ERROR, events[-1].line
            events.append(await self.next())
        return events

    async def rest(self) -> list[Event]:
        """Return the events up to the end of the watch."""
        events: list[Event] = []
        while True:
            try:
                events.append(await self.next())
            except StopAsyncIteration:
                return events


@asynccontextmanager
async def watching(store: Store, codec: WidgetCodec, prefix: str = "", **options: Any) -> AsyncIterator[Reader]:
    """Open a watch and close it at the end of the block."""
    watch = await store.watch(prefix, codec, WatchOptions(**options))
    try:
        yield Reader(watch)
    finally:
        watch.close()


class Informer:
    """The state of a client that only knows a watch's events."""

    def __init__(self) -> None:
        self.objects: dict[str, json_codec.Object] = {}
        self.revision = 0

    def take(self, event: Event) -> None:
        """Apply an event as client-go's store does. Fail if it contradicts the state."""
        line = json_codec.loads(event.line)
        assert line["type"] == event.type.value
        obj = line["object"]
        revision = int(obj["metadata"]["resourceVersion"])
        assert revision == event.revision
        if event.type is EventType.BOOKMARK:
            assert revision >= self.revision
            self.revision = revision
            return
        assert event.item is not None
        key = event.item.key
        assert json_codec.loads(event.item.data) == obj
        assert (key in self.objects) is (event.type is not EventType.ADDED), event.type
        if event.type is EventType.DELETED:
            del self.objects[key]
        else:
            self.objects[key] = obj
        self.revision = max(self.revision, revision)
