"""Watches of a resource with unreadable objects."""

import json
from typing import Any, Final

import pytest

from apiext.base.meta.errors import StatusError
from apiext.storage.errors import CorruptObjectError
from apiext.storage.interface import ListOptions, Selection, Store, WatchOptions
from tests.support.builders.widgets import Reader, WidgetCodec, labelled, seen, watching, widget
from tests.support.refusals import refusal
from tests.support.servers.memory_backend import MemoryBackend

KEY: Final = "/registry/example.com/widgets/a/x"
BROKEN: Final = b'{"kind":"Gadget"}'
RED: Final = labelled("color=red")


async def _revision(store: Store, codec: WidgetCodec) -> int:
    return (await store.list("", codec, ListOptions())).revision


async def _broken(store: Store, backend: MemoryBackend, codec: WidgetCodec) -> tuple[int, int]:
    """Create an object and make it unreadable; return the revisions of both."""
    await store.list("", codec, ListOptions())
    created = await store.create("a/x", widget("a/x", labels={"color": "red"}), codec)
    result = await backend.update(KEY, BROKEN, expected=created.revision)
    return created.revision, result.revision


async def _notice(store: Store, codec: WidgetCodec) -> None:
    with pytest.raises(StatusError, match="failed to read one or more"):
        await store.list("", codec, ListOptions())


def _status(line: bytes) -> dict[str, Any]:
    event = json.loads(line)
    assert event["type"] == "ERROR"
    status: dict[str, Any] = event["object"]
    return status


async def _first_error(store: Store, codec: WidgetCodec, revision: int, selection: Selection) -> dict[str, Any]:
    async with watching(store, codec, resource_version=str(revision), selection=selection) as reader:
        return _status((await reader.next()).line)


@pytest.mark.parametrize("start", ["", "0", "before", "after"])
async def test_refuses_watches_while_an_object_is_unreadable(store: Store, codec: WidgetCodec, backend: MemoryBackend, start: str) -> None:
    """Answer 429 to watches of an object that is known to be unreadable, and go on with the others."""
    before, after = await _broken(store, backend, codec)
    await _notice(store, codec)
    caught = await refusal(
        store.watch("a/", codec, WatchOptions(resource_version={"before": str(before), "after": str(after)}.get(start, start)))
    )
    other = await store.watch("b/", codec, WatchOptions())
    other.close()

    assert (caught.code, caught.details) == (429, {"retryAfterSeconds": 1})
    assert caught.message.startswith("storage is (re)initializing: failed to list <unspecified>: failed to read one or more widgets.")


@pytest.mark.parametrize("selection", [Selection(), RED])
@pytest.mark.parametrize("repaired", [True, False])
async def test_expires_what_is_behind_an_unreadable_state(
    store: Store, codec: WidgetCodec, backend: MemoryBackend, selection: Selection, *, repaired: bool
) -> None:
    """Answer 410 to a watch that would have to skip an unreadable state: its client lists again."""
    before, broken = await _broken(store, backend, codec)
    await _notice(store, codec)
    if repaired:
        await backend.update(KEY, codec.encode(widget("a/x")).stored, expected=broken)
    else:
        await backend.delete(KEY, expected=broken)
    now = await _revision(store, codec)
    status = await _first_error(store, codec, before, selection)

    assert (status["code"], status["message"]) == (410, f"too old resource version: {before} ({now})")


async def test_adds_a_repaired_object(store: Store, codec: WidgetCodec, backend: MemoryBackend) -> None:
    """Return ADDED for an object that becomes readable to a watcher that never saw it, whatever it selects."""
    _, broken = await _broken(store, backend, codec)
    start = str(broken)
    async with (
        watching(store, codec, resource_version=start) as everything,
        watching(store, codec, resource_version=start, selection=RED) as selected,
    ):
        await _notice(store, codec)
        await backend.update(KEY, codec.encode(widget("a/x", labels={"color": "red"})).stored, expected=broken)
        events = [await reader.next() for reader in (everything, selected)]

    assert [seen(event)[:2] for event in events] == [("ADDED", "a/x")] * 2


@pytest.mark.parametrize("selection", [Selection(), RED])
async def test_reports_the_deletion_of_an_unreadable_object(
    store: Store, codec: WidgetCodec, backend: MemoryBackend, selection: Selection
) -> None:
    """Return an error for the deletion of an unreadable object, which a watcher may have seen when it was readable."""
    _, broken = await _broken(store, backend, codec)
    async with watching(store, codec, resource_version=str(broken), selection=selection) as reader:
        await backend.delete(KEY, expected=broken)
        status = _status((await reader.next()).line)

    assert (status["code"], status["reason"]) == (500, "StorageReadError")
    assert status["message"].startswith("saw a DELETED event, but object data is corrupt - object not decodable")


async def test_reports_what_is_not_selected_any_more(store: Store, codec: WidgetCodec, backend: MemoryBackend) -> None:
    """Return an error where an object becomes readable that a selection does not select, but may have selected."""
    _, broken = await _broken(store, backend, codec)
    async with watching(store, codec, resource_version=str(broken), selection=RED) as reader:
        await backend.update(KEY, codec.encode(widget("a/x")).stored, expected=broken)
        status = _status((await reader.next()).line)

    assert status["reason"] == "StorageReadError"


async def test_forgets_old_failures(store: Store, codec: WidgetCodec, backend: MemoryBackend) -> None:
    """Remember a bounded number of unreadable objects."""
    for number in range(150):
        await backend.create(f"/registry/example.com/widgets/a/{number}", BROKEN)
        with pytest.raises(CorruptObjectError):
            await store.get(f"a/{number}", codec)
    watch = await store.watch("a/0", codec, WatchOptions(resource_version="0"))
    assert _status((await Reader(watch).next()).line)["code"] == 500
