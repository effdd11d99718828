"""Watches of every Store on every backend."""

import asyncio
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.storage.backend import Backend
from apiext.storage.interface import EventType, ListOptions, Store, VersionMatch, WatchOptions
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, Informer, WidgetCodec, change, labelled, relabel, watching, where, widget


async def test_starts_at_a_list(store: Store, codec: WidgetCodec) -> None:
    """Return every change after a list's revision in order, and none before it."""
    await store.create("a/x", widget("a/x"), codec)
    start = (await store.list("", codec, ListOptions())).revision
    async with watching(store, codec, resource_version=str(start)) as reader:
        created = await store.create("b/y", widget("b/y"), codec)
        changed = await change(store, codec, "a/x", color="red")
        deleted = await store.delete("b/y", codec)
        events = await reader.take(3)

    assert events == [
        ("ADDED", "b/y", created.revision),
        ("MODIFIED", "a/x", changed.revision),
        ("DELETED", "b/y", deleted.revision),
    ]


async def test_encodes_events(store: Store, codec: WidgetCodec) -> None:
    """Encode an event's object as a get returns it, and that of a deletion as the last state with the deletion's revision."""
    start = (await store.list("", codec, ListOptions())).revision
    async with watching(store, codec, resource_version=str(start)) as reader:
        created = await store.create("a/x", widget("a/x", color="red"), codec)
        deleted = await store.delete("a/x", codec)
        lines = [(await reader.next()).line for _ in range(2)]

    assert lines == [
        b'{"type":"ADDED","object":' + created.data + b"}\n",
        b'{"type":"DELETED","object":' + deleted.data + b"}\n",
    ]


async def test_starts_at_an_old_revision(store: Store, codec: WidgetCodec) -> None:
    """Return the changes since an old revision first."""
    await store.list("", codec, ListOptions())
    created = await store.create("a/x", widget("a/x"), codec)
    changed = await change(store, codec, "a/x", color="red")
    deleted = await store.delete("a/x", codec)
    async with watching(store, codec, resource_version=str(created.revision)) as reader:
        again = await store.create("a/x", widget("a/x"), codec)
        events = await reader.take(3)

    assert events == [
        ("MODIFIED", "a/x", changed.revision),
        ("DELETED", "a/x", deleted.revision),
        ("ADDED", "a/x", again.revision),
    ]


async def test_starts_at_a_future_revision(store: Store, codec: WidgetCodec, backend: Backend) -> None:
    """Return only the changes after a future revision."""
    await store.list("", codec, ListOptions())
    start = await backend.revision() + 2
    async with watching(store, codec, resource_version=str(start)) as reader:
        for number in range(3):
            await store.create(f"a/{number}", widget(f"a/{number}"), codec)
        events = await reader.take(1)

    assert events == [("ADDED", "a/2", start + 1)]


@pytest.mark.parametrize("resource_version", ["", "0"])
async def test_sends_legacy_initial_events(store: Store, codec: WidgetCodec, resource_version: str) -> None:
    """Return existing objects as ADDED in the order of keys without a resourceVersion or with 0."""
    second = await store.create("b/y", widget("b/y"), codec)
    first = await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    async with watching(store, codec, resource_version=resource_version) as reader:
        third = await store.create("a/y", widget("a/y"), codec)
        events = await reader.take(3)

    assert events == [("ADDED", "a/x", first.revision), ("ADDED", "b/y", second.revision), ("ADDED", "a/y", third.revision)]


@pytest.mark.parametrize("resource_version", ["", "0", "present"])
async def test_ends_initial_events_with_a_bookmark(store: Store, codec: WidgetCodec, backend: Backend, resource_version: str) -> None:
    """End requested initial events with an annotated bookmark of their revision."""
    await store.create("a/x", widget("a/x"), codec)
    await store.create("a/y", widget("a/y"), codec)
    listed = await store.list("", codec, ListOptions())
    start = str(listed.revision) if resource_version == "present" else resource_version
    options: dict[str, Any] = {"match": VersionMatch.NOT_OLDER_THAN, "send_initial_events": True, "allow_bookmarks": True}
    async with watching(store, codec, resource_version=start, **options) as reader:
        events = await reader.until(lambda event: event.type is EventType.BOOKMARK)
        created = await store.create("a/z", widget("a/z"), codec)
        after = await reader.next()

    assert [(event.type, event.item.data if event.item else None) for event in events[:-1]] == [
        (EventType.ADDED, item.data) for item in listed.items
    ]
    assert json_codec.loads(events[-1].line) == {
        "type": "BOOKMARK",
        "object": {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {
                "annotations": {"k8s.io/initial-events-end": "true"},
                "resourceVersion": str(events[-1].revision),
            },
        },
    }
    assert listed.revision <= events[-1].revision <= await backend.revision()
    assert (after.type, after.revision) == (EventType.ADDED, created.revision)


async def test_omits_the_bookmark_unless_allowed(store: Store, codec: WidgetCodec) -> None:
    """Return no bookmark after initial events if the client does not allow bookmarks."""
    await store.create("a/x", widget("a/x"), codec)
    async with watching(store, codec, send_initial_events=True) as reader:
        assert (await reader.next()).type is EventType.ADDED
        await store.create("a/y", widget("a/y"), codec)
        assert (await reader.next()).type is EventType.ADDED


async def test_omits_initial_events(store: Store, codec: WidgetCodec) -> None:
    """Return no initial events if the client refuses them."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    for resource_version in ("", "0"):
        async with watching(store, codec, send_initial_events=False, resource_version=resource_version) as reader:
            created = await store.create(f"a/y{resource_version}", widget(f"a/y{resource_version}"), codec)
            assert await reader.take(1) == [("ADDED", created.key, created.revision)]


async def test_rejects_initial_events_of_a_future_revision(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend) -> None:
    """Return an ERROR event for initial events at a revision that has not been reached."""
    store = (await make_factory(max_wait=0.05)).store(WIDGETS)
    await store.list("", codec, ListOptions())
    future = await backend.revision() + 1000
    async with watching(store, codec, send_initial_events=True, resource_version=str(future)) as reader:
        (event,) = await reader.rest()

    status = json_codec.loads(event.line)["object"]
    assert (event.type, status["code"], status["reason"]) == (EventType.ERROR, 504, "Timeout")
    assert status["message"].startswith(f"Timeout: Too large resource version: {future}, current: ")
    assert status["details"]["retryAfterSeconds"] == 1


async def test_rejects_a_malformed_resource_version(store: Store, codec: WidgetCodec) -> None:
    """Reject a malformed resourceVersion before the watch starts, without a reason like the reference."""
    with pytest.raises(StatusError, match=r'^resourceVersion: Invalid value: "x": ') as caught:
        await store.watch("", codec, WatchOptions(resource_version="x"))

    assert (caught.value.code, caught.value.reason) == (500, "")


async def test_watches_one_scope(store: Store, codec: WidgetCodec) -> None:
    """Return only events of the watched namespace or object."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with (
        watching(store, codec, "a/", resource_version=start) as namespace,
        watching(store, codec, "a/x", resource_version=start) as single,
        watching(store, codec, "a/", resource_version=start, selection=where("metadata.name=x")) as selected,
        watching(store, codec, resource_version=start, selection=where("metadata.name=x")) as named,
    ):
        await store.create("ab/x", widget("ab/x"), codec)
        await store.create("a/xy", widget("a/xy"), codec)
        await store.create("a/x", widget("a/x"), codec)
        await store.delete("a/x", codec)
        assert [event[:2] for event in await namespace.take(3)] == [("ADDED", "a/xy"), ("ADDED", "a/x"), ("DELETED", "a/x")]
        assert [event[:2] for event in await single.take(2)] == [("ADDED", "a/x"), ("DELETED", "a/x")]
        assert [event[:2] for event in await selected.take(2)] == [("ADDED", "a/x"), ("DELETED", "a/x")]
        assert [event[:2] for event in await named.take(3)] == [("ADDED", "ab/x"), ("ADDED", "a/x"), ("DELETED", "a/x")]


async def test_translates_selector_transitions(store: Store, codec: WidgetCodec) -> None:
    """Return ADDED when an object starts to match, and DELETED with its last matching state at the change's revision when it stops."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, codec, resource_version=start, selection=labelled("app=web")) as reader:
        await store.create("a/other", widget("a/other", labels={"app": "db"}), codec)
        await store.create("a/x", widget("a/x", labels={"app": "db"}), codec)
        entered = await relabel(store, codec, "a/x", app="web")
        stayed = await change(store, codec, "a/x", color="red")
        left = await relabel(store, codec, "a/x", app="db")
        await change(store, codec, "a/x", color="blue")
        await store.delete("a/x", codec)
        again = await store.create("a/x", widget("a/x", labels={"app": "web"}), codec)
        gone = await store.delete("a/x", codec)
        events = [await reader.next() for _ in range(5)]

    assert [(event.type, event.revision) for event in events] == [
        (EventType.ADDED, entered.revision),
        (EventType.MODIFIED, stayed.revision),
        (EventType.DELETED, left.revision),
        (EventType.ADDED, again.revision),
        (EventType.DELETED, gone.revision),
    ]
    assert events[2].item is not None
    shown = events[2].item.object()
    assert (shown["metadata"]["labels"], shown["spec"]) == ({"app": "web"}, {"color": "red"})
    assert shown["metadata"]["resourceVersion"] == str(left.revision)


async def test_translates_field_selector_transitions(store: Store, codec: WidgetCodec) -> None:
    """Return the same transitions for selectable fields as for labels."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, codec, resource_version=start, selection=where("spec.color=red")) as reader:
        await store.create("a/x", widget("a/x"), codec)
        await change(store, codec, "a/x", color="red")
        await change(store, codec, "a/x", color="blue")
        events = await reader.take(2)

    assert [event[0] for event in events] == ["ADDED", "DELETED"]


async def test_keeps_the_order_of_concurrent_writers(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Return the same events in the order of revisions to every watch while two servers write."""
    here, there = (await make_factory()).store(WIDGETS), (await make_factory()).store(WIDGETS)
    start = str((await here.list("", codec, ListOptions())).revision)
    await there.list("", codec, ListOptions())

    async def write(store: Store, writer: int) -> None:
        key = f"a/{writer}"
        for step in range(10):
            await (change(store, codec, key, step=step) if step else store.create(key, widget(key, step=0), codec))
        await store.delete(key, codec)

    async with (
        watching(here, codec, resource_version=start) as first,
        watching(there, codec, resource_version=start) as second,
    ):
        await asyncio.gather(*(write(store, 2 * number + side) for number in range(4) for side, store in enumerate((here, there))))
        seen_here, seen_there = await first.take(88), await second.take(88)

    assert seen_here == seen_there
    revisions = [revision for _, _, revision in seen_here]
    assert revisions == sorted(set(revisions))
    for writer in range(8):
        types = [type_ for type_, key, _ in seen_here if key == f"a/{writer}"]
        assert types == ["ADDED", *["MODIFIED"] * 9, "DELETED"]


async def test_watches_in_each_version(store: Store, codec: WidgetCodec) -> None:
    """Return each watch's version of the objects."""
    other = WidgetCodec("v2")
    start = str((await store.list("", codec, ListOptions())).revision)
    async with (
        watching(store, codec, resource_version=start) as old,
        watching(store, other, resource_version=start) as new,
    ):
        await store.create("a/x", widget("a/x"), codec)
        await store.delete("a/x", other)
        for type_ in ("ADDED", "DELETED"):
            assert json_codec.loads((await old.next()).line)["object"]["spec"] == {}
            line = json_codec.loads((await new.next()).line)
            assert (line["type"], line["object"]["apiVersion"], line["object"]["spec"]) == (
                type_,
                "example.com/v2",
                {"size": "medium"},
            )


async def test_rejects_a_compacted_start(make_factory: MakeFactory, codec: WidgetCodec, backend: Backend) -> None:
    """Return an ERROR event with 410 Expired for a compacted revision, and end the watch."""
    earlier = (await make_factory()).store(WIDGETS)
    old = await earlier.create("a/x", widget("a/x"), codec)
    for color in ("red", "blue"):
        await change(earlier, codec, "a/x", color=color)
    await backend.compact(await backend.revision())
    store = (await make_factory()).store(WIDGETS)
    await store.list("", codec, ListOptions())
    async with watching(store, codec, resource_version=str(old.revision)) as reader:
        (event,) = await reader.rest()

    status = json_codec.loads(event.line)["object"]
    assert (event.type, status["code"], status["reason"], status["kind"]) == (EventType.ERROR, 410, "Expired", "Status")


async def test_reports_corrupt_objects(store: Store, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Return an ERROR event to a watch that selects a corrupt object, and continue the others."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with (
        watching(store, codec, "a/", resource_version=start) as reader,
        watching(store, codec, "b/", resource_version=start) as other,
    ):
        await store.create("a/x", widget("a/x"), codec)
        await backend.create(f"{prefix}example.com/widgets/a/bad", b'{"kind":"Gadget"}')
        created = await store.create("b/y", widget("b/y"), codec)
        events = await reader.rest()
        assert await other.take(1) == [("ADDED", "b/y", created.revision)]

    assert [event.type for event in events] == [EventType.ADDED, EventType.ERROR]
    assert json_codec.loads(events[-1].line)["object"]["code"] == 500


async def test_close_ends_a_watch(store: Store, codec: WidgetCodec) -> None:
    """End a closed watch, also while its reader waits; a second close does nothing."""
    watch = await store.watch("", codec, WatchOptions(send_initial_events=False))
    waiting = asyncio.ensure_future(anext(aiter(watch)))
    await asyncio.sleep(0)
    watch.close()
    watch.close()

    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_drop_ends_watches(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """End the watches of a dropped resource and return no object of it."""
    factory = await make_factory()
    store = factory.store(WIDGETS)
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    async with watching(store, codec, send_initial_events=False) as reader:
        factory.drop(WIDGETS)
        assert await reader.rest() == []
    changed = await change(store, codec, "a/x", color="red")

    assert (await store.get("a/x", codec)).revision == changed.revision
    assert [item.revision for item in (await store.list("", codec, ListOptions())).items] == [changed.revision]
    async with watching(store, codec) as reader:
        assert await reader.rest() == []
    assert (await factory.store(WIDGETS).get("a/x", codec)).revision == changed.revision


async def test_informer_equals_a_list(store: Store, codec: WidgetCodec) -> None:
    """Build the same state as a list from initial events and changes."""
    for number in range(300):
        await store.create(f"a/{number}", widget(f"a/{number}", labels={"even": str(number % 2 == 0)}), codec)
    informer = Informer()
    async with watching(store, codec, send_initial_events=True, allow_bookmarks=True) as reader:
        for number in range(0, 300, 3):
            await change(store, codec, f"a/{number}", color="red")
        for number in range(0, 300, 7):
            await store.delete(f"a/{number}", codec)
        last = await store.create("b/last", widget("b/last"), codec)
        for event in await reader.until(lambda event: event.revision >= last.revision):
            informer.take(event)
    listed = await store.list("", codec, ListOptions())

    assert informer.objects == {item.key: item.object() for item in listed.items}
