"""Watches that resume on another server, or after a restart: they get what happened before that server began."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.call_log import CallLog
from apiext.storage.backend import Backend
from apiext.storage.interface import EVERYTHING, EventType, ListOptions, Selection, Store
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, labelled, relabel, watching, where, widget

SELECTIONS = [EVERYTHING, labelled("team=x"), where("spec.color=red")]


class Converter:
    """Converts as a webhook does, and counts the objects that it was asked for."""

    def __init__(self) -> None:
        self.converted = 0

    async def from_storage(
        self, objects: Sequence[json_codec.Object], _log: CallLog | None = None
    ) -> Sequence[json_codec.Object | ValueError]:
        """Return the objects in v2."""
        self.converted += len(objects)
        return [obj | {"apiVersion": "example.com/v2", "spec": obj["spec"] | {"size": "large"}} for obj in objects]

    async def to_storage(self, obj: json_codec.Object) -> json_codec.Object:
        """Return an object in v1."""
        return obj | {"apiVersion": "example.com/v1"}


async def begin(make_factory: MakeFactory, codec: WidgetCodec) -> tuple[Store, int]:
    """Return the store of the earlier server, and its revision after a first object."""
    store = (await make_factory()).store(WIDGETS)
    return store, (await store.create("a/first", widget("a/first"), codec)).revision


async def live(store: Store, codec: WidgetCodec) -> None:
    """Create, change, relabel, delete and create again."""
    for name in ("a/x", "a/y", "b/z"):
        await store.create(name, widget(name, labels={"team": "x"}, color="red"), codec)
    await change(store, codec, "a/x", color="blue")
    await relabel(store, codec, "a/y", team="y")
    await store.delete("b/z", codec)
    await change(store, codec, "a/x", color="red")
    await relabel(store, codec, "a/y", team="x")
    await store.create("b/z", widget("b/z", labels={"team": "x"}, color="red"), codec)
    await store.delete("a/x", codec)


async def lines(store: Store, codec: WidgetCodec, start: int, count: int, selection: Selection, prefix: str = "") -> list[bytes]:
    """Return events of a watch from a revision."""
    async with watching(store, codec, prefix, resource_version=str(start), selection=selection) as reader:
        return [(await reader.next()).line for _ in range(count)]


@pytest.mark.parametrize("selection", SELECTIONS, ids=["all", "labels", "fields"])
async def test_sends_every_event_once(make_factory: MakeFactory, codec: WidgetCodec, selection: Selection) -> None:
    """Send the events that a watch got from the earlier server, byte by byte, from every revision; then those of the present."""
    earlier, start = await begin(make_factory, codec)
    async with watching(earlier, codec, resource_version=str(start), selection=selection) as reader:
        await live(earlier, codec)
        last = await earlier.create("c/end", widget("c/end", labels={"team": "x"}, color="red"), codec)
        events = await reader.until(lambda event: event.revision == last.revision)

    store = (await make_factory()).store(WIDGETS)
    listed = await store.list("", codec, ListOptions())
    assert listed.revision >= last.revision
    new = await store.create("c/new", widget("c/new", labels={"team": "x"}, color="red"), codec)
    for after in range(last.revision, start - 1, -1):
        expected = [event.line for event in events if event.revision > after]
        found = await lines(store, codec, after, len(expected) + 1, selection)
        assert found[:-1] == expected
        assert json_codec.loads(found[-1])["object"]["metadata"]["resourceVersion"] == str(new.revision)


async def test_sends_the_events_of_a_scope(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Send the past of one namespace, to a watch that is the first request to its server."""
    earlier, start = await begin(make_factory, codec)
    await live(earlier, codec)
    store = (await make_factory()).store(WIDGETS)
    async with watching(store, codec, "b/", resource_version=str(start)) as reader:
        found = [(type_, key) for type_, key, _ in await reader.take(3)]

    assert found == [("ADDED", "b/z"), ("DELETED", "b/z"), ("ADDED", "b/z")]


async def test_is_quiet_if_nothing_happened(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Send nothing from the past to a watch of a collection in which nothing has happened, while others changed."""
    _, start = await begin(make_factory, codec)
    for number in range(3):
        await backend.create(f"{prefix}example.com/gadgets/{number}", b"{}")
    store = (await make_factory()).store(WIDGETS)
    await store.list("", codec, ListOptions())
    async with watching(store, codec, resource_version=str(start)) as reader:
        created = await store.create("a/y", widget("a/y"), codec)
        assert await reader.take(1) == [("ADDED", "a/y", created.revision)]


async def test_shares_the_past(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Send each of many watches its own part of the past, while objects change."""
    earlier, start = await begin(make_factory, codec)
    created = [await earlier.create(f"a/{number}", widget(f"a/{number}"), codec) for number in range(20)]
    store = (await make_factory()).store(WIDGETS)
    await store.list("", codec, ListOptions())

    async def resume(after: int) -> list[tuple[str, str, int]]:
        async with watching(store, codec, resource_version=str(after)) as reader:
            return await reader.take(sum(item.revision > after for item in created) + 1)

    resumed = [asyncio.ensure_future(resume(after)) for after in [*(item.revision for item in created), start]]
    changed = await change(store, codec, "a/3", color="red")
    for events, after in zip(await asyncio.gather(*resumed), [*(item.revision for item in created), start], strict=True):
        expected = [("ADDED", item.key, item.revision) for item in created if item.revision > after]
        assert events == [*expected, ("MODIFIED", "a/3", changed.revision)]


async def test_expires_where_the_store_is_compacted(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend) -> None:
    """Send the events after the compacted revision, and 410 Expired for an earlier one."""
    earlier, _ = await begin(make_factory, codec)
    created = await earlier.create("a/x", widget("a/x", labels={"team": "x"}), codec)
    changed = [await relabel(earlier, codec, "a/x", team=team) for team in "yxy"]
    await backend.compact(changed[1].revision)
    store = (await make_factory()).store(WIDGETS)
    await store.list("", codec, ListOptions())
    options: dict[str, Any] = {"selection": labelled("team=x")}
    async with (
        watching(store, codec, resource_version=str(created.revision), **options) as expired,
        watching(store, codec, resource_version=str(changed[0].revision), **options) as unknown,
        watching(store, codec, resource_version=str(changed[1].revision), **options) as resumed,
    ):
        assert await resumed.take(1) == [("DELETED", "a/x", changed[2].revision)]
        for reader in (expired, unknown):
            (event,) = await reader.rest()
            assert (event.type, json_codec.loads(event.line)["object"]["code"]) == (EventType.ERROR, 410)


async def test_shows_objects_in_the_present_version(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Convert the objects of the past for a watch in another version."""
    earlier, start = await begin(make_factory, codec)
    await earlier.create("a/x", widget("a/x"), codec)
    store = (await make_factory()).store(WIDGETS)
    await store.list("", codec, ListOptions())
    (line,) = await lines(store, WidgetCodec("v2"), start, 1, EVERYTHING)
    obj = json_codec.loads(line)["object"]
    assert (obj["apiVersion"], obj["spec"]) == ("example.com/v2", {"size": "medium"})


async def test_reports_unreadable_objects_of_the_past(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """End a watch with an error at an unreadable object that is there, after the events before it."""
    earlier, start = await begin(make_factory, codec)
    created = await earlier.create("a/x", widget("a/x"), codec)
    store = (await make_factory()).store(WIDGETS)
    await backend.create(f"{prefix}example.com/widgets/a/bad", b'{"kind":"Gadget"}')
    async with watching(store, codec, resource_version=str(start)) as reader:
        assert await reader.take(1) == [("ADDED", "a/x", created.revision)]
        (event,) = await reader.rest()
    assert (event.type, json_codec.loads(event.line)["object"]["code"]) == (EventType.ERROR, 500)


async def test_converts_what_is_sent_only(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Ask a webhook for the objects that the watch's events show, when they are sent."""
    earlier, start = await begin(make_factory, codec)
    await live(earlier, codec)
    store, converting, converter = (await make_factory()).store(WIDGETS), WidgetCodec("v2"), Converter()
    converting.conversion = converter
    await store.list("", codec, ListOptions())
    found = [json_codec.loads(line) for line in await lines(store, converting, start, 3, EVERYTHING, "b/")]

    assert [(event["type"], event["object"]["spec"]) for event in found] == [
        (type_, {"color": "red", "size": "large"}) for type_ in ("ADDED", "DELETED", "ADDED")
    ]
    assert {event["object"]["apiVersion"] for event in found} == {"example.com/v2"}
    assert converter.converted <= 3
