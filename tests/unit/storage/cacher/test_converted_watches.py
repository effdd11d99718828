"""Watches in a version whose objects a webhook converts: they begin when it has converted all objects in their scope."""

import http
from collections.abc import Sequence
from typing import Any

import pytest

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.call_log import CallLog
from apiext.storage.cacher import cached_store
from apiext.storage.cacher.cached_store import CachedStore
from apiext.storage.interface import EventType, ListOptions
from tests.support.builders.widgets import WidgetCodec, change, watching, where, widget

REFUSED = "storage is (re)initializing: failed to list <unspecified>: failed to read one or more widgets.example.com from the storage: "


class Webhook:
    """Converts widgets that are not red, if it answers at all."""

    def __init__(self) -> None:
        self.converted: list[str] = []
        self.answers = True

    async def from_storage(
        self, objects: Sequence[json_codec.Object], _log: CallLog | None = None
    ) -> Sequence[json_codec.Object | ValueError]:
        """Return the objects in v2; errors in the place of red ones."""
        self.converted += [obj["metadata"]["name"] for obj in objects]
        if not self.answers:
            raise errors.service_unavailable("no converter")
        v2 = {"apiVersion": "example.com/v2"}
        return [ValueError("red") if obj["spec"].get("color") == "red" else obj | v2 for obj in objects]

    async def to_storage(self, obj: json_codec.Object) -> json_codec.Object:
        """Return an object in v1."""
        return obj | {"apiVersion": "example.com/v1"}


@pytest.fixture
def webhook() -> Webhook:
    """Return the webhook."""
    return Webhook()


@pytest.fixture
def converting(webhook: Webhook) -> WidgetCodec:
    """Return the codec of the version that needs the webhook."""
    return WidgetCodec("v2", conversion=webhook)


async def refused(store: CachedStore, codec: WidgetCodec, prefix: str = "", **options: Any) -> str:
    """Return the message of a watch's refusal with 429, or ""."""
    try:
        async with watching(store, codec, prefix, **options):
            return ""
    except errors.StatusError as error:
        return error.message if (error.code, error.retry_after) == (http.HTTPStatus.TOO_MANY_REQUESTS, 1) else repr(error)


async def _fill(store: CachedStore, codec: WidgetCodec) -> str:
    """Create objects, a red one in namespace b. Return a revision before it."""
    start = await store.create("a/x", widget("a/x"), codec)
    await store.create("b/red", widget("b/red", color="red"), codec)
    await store.create("b/y", widget("b/y"), codec)
    await store.list("", codec, ListOptions())
    return str(start.revision)


BEGINNINGS: dict[str, dict[str, Any]] = {
    "latest": {},
    "any": {"resource_version": "0"},
    "revision": {"resource_version": "START"},
    "initial events": {"send_initial_events": True, "allow_bookmarks": True},
    "initial events of a revision": {"send_initial_events": True, "resource_version": "START"},
    "no initial events": {"send_initial_events": False},
}


@pytest.mark.parametrize("name", BEGINNINGS)
async def test_refused_until_all_are_converted(store: CachedStore, codec: WidgetCodec, converting: WidgetCodec, name: str) -> None:
    """Refuse a watch with 429, wherever it begins, while an object in its scope has no conversion."""
    start = await _fill(store, codec)
    options = {key: start if value == "START" else value for key, value in BEGINNINGS[name].items()}
    for scope in ({}, {"prefix": "b/"}, {"selection": where("metadata.namespace=b")}):
        message = await refused(store, converting, **options | scope)
        assert message.startswith(REFUSED)
        assert message.endswith("red")
    assert await refused(store, converting, "a/", **options) == ""
    assert await refused(store, converting, selection=where("metadata.namespace=b,metadata.name=y"), **options) == ""

    await change(store, codec, "b/red", color="blue")
    await store.list("", codec, ListOptions())
    assert await refused(store, converting, **options) == ""


async def test_refused_without_a_converter(store: CachedStore, codec: WidgetCodec, converting: WidgetCodec, webhook: Webhook) -> None:
    """Refuse a watch while the converter cannot be used; do not need it for what it has converted."""
    await store.create("a/x", widget("a/x"), codec)
    await store.list("", codec, ListOptions())
    webhook.answers = False
    assert await refused(store, converting) == "storage is (re)initializing: no converter"
    webhook.answers = True
    assert await refused(store, converting) == ""
    webhook.answers = False
    assert await refused(store, converting) == ""
    assert webhook.converted == ["x", "x"]


async def test_open_watch_ends_with_the_error(store: CachedStore, codec: WidgetCodec, converting: WidgetCodec) -> None:
    """End an open watch with an ERROR at the first change that cannot be converted, after the events before it."""
    start = str((await store.list("", codec, ListOptions())).revision)
    async with watching(store, converting, resource_version=start) as reader, watching(store, converting, "a/") as other:
        await _fill(store, codec)
        assert [event.type for event in await reader.rest()] == [EventType.ADDED, EventType.ERROR]
        assert [key for _, key, _ in await other.take(1)] == ["a/x"]
    assert (await refused(store, converting, resource_version=start)).startswith(REFUSED)


async def test_few_calls_while_it_fails(
    store: CachedStore, codec: WidgetCodec, converting: WidgetCodec, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop to convert at a failure: the client comes again."""
    monkeypatch.setattr(cached_store, "CONVERTED_AT_ONCE", 2)
    await _fill(store, codec)
    await store.create("c/z", widget("c/z"), codec)
    assert (await refused(store, converting)).startswith(REFUSED)
    assert webhook.converted == ["x", "red"]


async def test_counts_at_most_100_objects(store: CachedStore, codec: WidgetCodec, converting: WidgetCodec) -> None:
    """Count the objects of a refusal up to the limit of a list's error."""
    for number in range(102):
        await store.create(f"a/{number}", widget(f"a/{number}", color="red"), codec)
    await store.list("", codec, ListOptions())

    assert (await refused(store, converting)).endswith("red (and 99 more)")
