"""Writes of every Store on every backend."""

import asyncio
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_STORED_BYTES
from apiext.storage.backend import Backend, ValueTooLargeError
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyExistsError, KeyNotFoundError
from apiext.storage.interface import ListOptions, Preconditions, Store, WriteOptions
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, widget


async def test_creates_an_object(store: Store, codec: WidgetCodec) -> None:
    """Return a created object with the revision of its creation."""
    created = await store.create("default/a", widget("default/a", color="red"), codec)
    read = await store.get("default/a", codec)

    assert (read.key, read.revision, read.data) == ("default/a", created.revision, created.data)
    assert read.object() == widget("default/a", color="red") | {
        "metadata": {"name": "a", "namespace": "default", "uid": "uid-of-a", "resourceVersion": str(created.revision)}
    }
    assert read.fields == {"metadata.name": "a", "metadata.namespace": "default", "spec.color": "red"}


async def test_stores_sorted_json(store: Store, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Store sorted JSON with a final newline and without resourceVersion under kube-apiserver's key."""
    await store.create("default/a", widget("default/a"), codec)
    pair, _ = await backend.get(f"{prefix}example.com/widgets/default/a")

    assert pair is not None
    assert pair.value == (
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"default","uid":"uid-of-a"},"spec":{}}\n'
    )


async def test_rejects_a_second_create(store: Store, codec: WidgetCodec, prefix: str) -> None:
    """Reject the creation of an existing object, dry run or not, and change nothing."""
    first = await store.create("default/a", widget("default/a"), codec)
    for dry_run in (False, True):
        with pytest.raises(KeyExistsError) as caught:
            await store.create("default/a", widget("default/a", color="red"), codec, WriteOptions(dry_run=dry_run))
        assert caught.value.key == f"{prefix}example.com/widgets/default/a"

    assert (await store.get("default/a", codec)).revision == first.revision


async def test_dry_runs_write_nothing(store: Store, codec: WidgetCodec) -> None:
    """Answer dry runs like real writes, without a new revision and without a stored change."""

    async def paint(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"]["color"] = "red"
        return obj

    made = await store.create("default/b", widget("default/b"), codec, WriteOptions(dry_run=True))
    assert "resourceVersion" not in made.object()["metadata"]
    with pytest.raises(KeyNotFoundError):
        await store.get("default/b", codec)
    before = await store.create("default/a", widget("default/a"), codec)
    painted, created = await store.guaranteed_update("default/a", codec, paint, WriteOptions(dry_run=True))
    assert (painted.object()["spec"], painted.revision, created) == ({"color": "red"}, before.revision, False)
    deleted = await store.delete("default/a", codec, WriteOptions(dry_run=True))
    assert deleted.data == before.data
    assert (await store.get("default/a", codec)).data == before.data


async def test_updates_the_current_object(store: Store, codec: WidgetCodec) -> None:
    """Update the current object at a new revision."""
    before = await store.create("default/a", widget("default/a"), codec)
    calls: list[int] = []

    async def paint(obj: json_codec.Object, revision: int) -> json_codec.Object:
        calls.append(revision)
        assert obj["metadata"]["resourceVersion"] == str(revision)
        obj["spec"]["color"] = "red"
        return obj

    after, created = await store.guaranteed_update("default/a", codec, paint)

    assert calls == [before.revision]
    assert after.revision > before.revision
    assert not created
    assert (await store.get("default/a", codec)).data == after.data


async def test_skips_an_update_without_change(store: Store, codec: WidgetCodec, backend: Backend) -> None:
    """Write nothing when an update changes no byte."""
    before = await store.create("default/a", widget("default/a"), codec)
    revision = await backend.revision()

    async def same(obj: json_codec.Object, _: int) -> json_codec.Object:
        return obj

    after, _ = await store.guaranteed_update("default/a", codec, same)

    assert after.data == before.data
    assert await backend.revision() == revision


async def test_updates_an_absent_object(store: Store, codec: WidgetCodec) -> None:
    """Raise an error for an absent object, or pass an empty one at revision 0 to the update that may create it."""

    async def make(obj: json_codec.Object, revision: int) -> json_codec.Object:
        assert (obj, revision) == ({}, 0)
        return widget("default/a")

    with pytest.raises(KeyNotFoundError):
        await store.guaranteed_update("default/a", codec, make)
    item, created = await store.guaranteed_update("default/a", codec, make, WriteOptions(ignore_not_found=True))

    assert created
    assert (await store.get("default/a", codec)).data == item.data


async def test_loses_no_concurrent_update(store: Store, codec: WidgetCodec) -> None:
    """Base each of many concurrent updates on the one before it."""
    await store.create("default/a", widget("default/a", count=0), codec)

    async def count(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"]["count"] += 1
        return obj

    await asyncio.gather(*(store.guaranteed_update("default/a", codec, count) for _ in range(20)))

    assert (await store.get("default/a", codec)).object()["spec"]["count"] == 20


async def test_retries_with_the_fresh_object(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Retry an update with the fresh object when another server made the cached one outdated."""
    here, there = (await make_factory()).store(WIDGETS), (await make_factory()).store(WIDGETS)
    await here.create("default/a", widget("default/a", count=0), codec)
    await here.list("", codec, ListOptions())
    await there.list("", codec, ListOptions())

    async def count(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"]["count"] += 1
        return obj

    for _ in range(5):
        await asyncio.gather(*(each.guaranteed_update("default/a", codec, count) for each in (here, there)))

    assert (await here.get("default/a", codec)).object()["spec"]["count"] == 10
    assert (await there.get("default/a", codec)).object()["spec"]["count"] == 10


async def test_raises_the_error_of_an_update(store: Store, codec: WidgetCodec) -> None:
    """Raise the update function's error and write nothing."""
    before = await store.create("default/a", widget("default/a"), codec)

    async def fail(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"]["color"] = "red"
        raise LookupError("no color")

    with pytest.raises(LookupError):
        await store.guaranteed_update("default/a", codec, fail)

    assert (await store.get("default/a", codec)).data == before.data


@pytest.mark.parametrize(
    "preconditions,message",
    [
        (Preconditions(uid="other"), "Precondition failed: UID in precondition: other, UID in object meta: uid-of-a"),
        (
            Preconditions(uid="uid-of-a", resource_version="1"),
            "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: {revision}",
        ),
    ],
)
async def test_checks_preconditions(store: Store, codec: WidgetCodec, preconditions: Preconditions, message: str) -> None:
    """Reject updates and deletions of another object than the preconditions name, with the reference's message."""
    before = await store.create("default/a", widget("default/a"), codec)

    async def same(*_: object) -> json_codec.Object:
        raise AssertionError("not to be asked")

    for call in (
        store.guaranteed_update("default/a", codec, same, WriteOptions(preconditions=preconditions)),
        store.delete("default/a", codec, WriteOptions(preconditions=preconditions)),
    ):
        with pytest.raises(InvalidObjectError) as caught:
            await call
        assert caught.value.message == message.format(revision=before.revision)


async def test_deletes_an_object(store: Store, codec: WidgetCodec) -> None:
    """Return the last state with a revision of its own from a deletion, after which the object is absent."""
    before = await store.create("default/a", widget("default/a", color="red"), codec)
    uid = Preconditions(uid="uid-of-a", resource_version=str(before.revision))
    deleted = await store.delete("default/a", codec, WriteOptions(preconditions=uid))

    assert deleted.revision > before.revision
    assert deleted.object()["spec"] == {"color": "red"}
    assert deleted.object()["metadata"]["resourceVersion"] == str(deleted.revision)
    for call in (store.get("default/a", codec), store.delete("default/a", codec)):
        with pytest.raises(KeyNotFoundError):
            await call


async def test_validates_a_deletion(store: Store, codec: WidgetCodec) -> None:
    """Pass the object to the caller's validation before its deletion, which may reject it."""
    before = await store.create("default/a", widget("default/a"), codec)

    async def refuse(obj: json_codec.Object) -> None:
        assert obj["metadata"]["name"] == "a"
        raise PermissionError("it stays")

    with pytest.raises(PermissionError):
        await store.delete("default/a", codec, WriteOptions(validate=refuse))

    assert (await store.get("default/a", codec)).data == before.data


async def test_keeps_a_corrupt_object(store: Store, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Reject the update of an object that cannot be decoded."""
    await backend.create(f"{prefix}example.com/widgets/default/a", b"no json")

    async def same(*_: object) -> json_codec.Object:
        raise AssertionError("not to be asked")

    with pytest.raises(CorruptObjectError):
        await store.guaranteed_update("default/a", codec, same)
    with pytest.raises(CorruptObjectError):
        await store.get("default/a", codec)


async def test_versions_share_objects(store: Store, codec: WidgetCodec) -> None:
    """Read and write the same objects with codecs of several versions."""
    other = WidgetCodec("v2")
    await store.create("default/a", widget("default/a", color="red"), codec)
    assert (await store.get("default/a", other)).object()["apiVersion"] == "example.com/v2"
    assert (await store.get("default/a", other)).object()["spec"] == {"color": "red", "size": "medium"}
    await change(store, other, "default/a", color="blue")

    assert (await store.get("default/a", codec)).object()["spec"] == {"color": "blue", "size": "medium"}
    assert (await store.get("default/a", codec)).object()["apiVersion"] == "example.com/v1"


async def test_deletes_unreadable_objects_only(store: Store, codec: WidgetCodec, backend: Backend, prefix: str) -> None:
    """Remove only unreadable objects with the unsafe deletion; a dry run keeps them."""
    await store.create("default/a", widget("default/a"), codec)
    await backend.create(f"{prefix}example.com/widgets/default/bad", b"garbage")
    with pytest.raises(InvalidObjectError, match="unsafe deletion is not allowed"):
        await store.delete_unreadable("default/a", codec)
    with pytest.raises(KeyNotFoundError):
        await store.delete_unreadable("default/none", codec)
    await store.delete_unreadable("default/bad", codec, WriteOptions(dry_run=True))
    await store.delete_unreadable("default/bad", codec)
    with pytest.raises(KeyNotFoundError):
        await store.delete_unreadable("default/bad", codec)

    assert [item.key for item in (await store.list("", codec, ListOptions())).items] == ["default/a"]


def _managed(key: str, **spec: Any) -> json_codec.Object:
    """Return a widget whose managedFields have 800 KB."""
    obj = widget(key, **spec)
    obj["metadata"]["managedFields"] = [{"manager": "m" * 800_000}]
    return obj


async def test_drops_managed_fields_of_large_objects(store: Store, codec: WidgetCodec) -> None:
    """Write an object that is too large without its managedFields, created or updated, and keep them in a smaller one."""
    created = await store.create("default/a", _managed("default/a", text="x" * 1_000_000), codec)
    small = await store.create("default/b", _managed("default/b"), codec)
    assert "managedFields" in small.object()["metadata"]

    async def enlarge(obj: json_codec.Object, _: int) -> json_codec.Object:
        obj["spec"]["text"] = "x" * 1_000_000
        return obj

    updated, _ = await store.guaranteed_update("default/b", codec, enlarge)
    for item, key in ((created, "default/a"), (updated, "default/b")):
        assert "managedFields" not in item.object()["metadata"]
        read = await store.get(key, codec)
        assert (read.revision, read.data) == (item.revision, item.data)


async def test_refuses_large_objects(store: Store, codec: WidgetCodec) -> None:
    """Refuse an object that is too large without its managedFields too, and keep the stored one."""

    async def enlarge(obj: json_codec.Object, _: int) -> json_codec.Object:
        return obj | {"spec": {"text": "x" * MAX_STORED_BYTES}}

    before = await store.create("default/a", _managed("default/a"), codec)
    with pytest.raises(ValueTooLargeError, match="etcdserver: request is too large"):
        await store.guaranteed_update("default/a", codec, enlarge)
    with pytest.raises(ValueTooLargeError, match="etcdserver: request is too large"):
        await store.create("default/b", _managed("default/b", text="x" * MAX_STORED_BYTES), codec)

    assert (await store.get("default/a", codec)).data == before.data
    with pytest.raises(KeyNotFoundError):
        await store.get("default/b", codec)
