"""Counts and keys of stored objects by version, of every Store on every backend."""

import asyncio

import pytest

from apiext.storage import stored_object
from apiext.storage.backend import Backend
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import ListOptions, Store
from apiext.storage.stored_bytes.version_counts import UNKNOWN, StoredVersions
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, widget

UNREADABLE = {
    "a/encrypted": b"k8s:enc:aescbc:v1:key:\x00\x01",
    "a/damaged": b"{",
    "a/foreign": b'{"apiVersion":"other.com/v1","kind":"Widget"}',
    "a/unversioned": b'{"kind":"Widget"}',
    "a/text": b'"v1"',
    "a/number": b'{"apiVersion":1}',
}


@pytest.fixture
def stored(factory: StoreFactory) -> StoredVersions:
    """Return the reader of stored versions beside the store."""
    factory.store(WIDGETS)
    return factory.stored_versions(WIDGETS)


async def put(backend: Backend, factory: StoreFactory, key: str, value: bytes) -> int:
    """Write the bytes of an object as another server would."""
    full = factory.key_prefix(WIDGETS) + key
    found, _ = await backend.get(full)
    if found is None:
        return (await backend.create(full, value)).revision
    return (await backend.update(full, value, expected=found.revision)).revision


def bytes_of(key: str, version: str) -> bytes:
    """Return a widget as a server with another storage version writes it."""
    return WidgetCodec().encode(widget(key)).data.replace(b"example.com/v1", f"example.com/{version}".encode())


async def keys_in(stored: StoredVersions, version: str) -> list[str]:
    """Return the keys stored in a version."""
    return [key async for key in stored.keys(version)]


@pytest.mark.parametrize("loaded", [True, False])
async def test_counts_every_change(
    factory: StoreFactory, store: Store, backend: Backend, codec: WidgetCodec, stored: StoredVersions, *, loaded: bool
) -> None:
    """Count objects by the version in their bytes, after creates, updates, deletions and writes of other servers."""
    if loaded:
        await store.list("", codec, ListOptions())
    for number in range(4):
        await put(backend, factory, f"a/{number}", bytes_of(f"a/{number}", "v1beta1"))
    assert (await stored.counts()).by_version == {"v1beta1": 4}
    await change(store, codec, "a/0", color="red")
    await store.create("b/x", widget("b/x"), codec)
    revision = await put(backend, factory, "b/y", bytes_of("b/y", "v1beta1"))
    counts = await stored.counts()

    assert counts.by_version == {"v1beta1": 4, "v1": 2}
    assert (counts.of("v1"), counts.of("v2"), counts.unknown, counts.total) == (2, 0, 0, 6)
    assert counts.revision >= revision
    assert await keys_in(stored, "v1beta1") == ["a/1", "a/2", "a/3", "b/y"]
    assert await keys_in(stored, "v1") == ["a/0", "b/x"]
    for key in ("a/1", "a/2", "a/3", "b/y"):
        await store.delete(key, codec)
    assert (await stored.counts()).by_version == {"v1": 2}
    assert await keys_in(stored, "v1beta1") == []


@pytest.mark.parametrize("loaded", [True, False])
async def test_counts_unreadable_objects_apart(
    factory: StoreFactory, store: Store, backend: Backend, codec: WidgetCodec, stored: StoredVersions, *, loaded: bool
) -> None:
    """Count objects whose version is unknown apart, also while they come and go."""
    if loaded:
        await store.list("", codec, ListOptions())
    await store.create("a/x", widget("a/x"), codec)
    for key, value in UNREADABLE.items():
        await put(backend, factory, key, value)
    counts = await stored.counts()

    assert counts.by_version == {"v1": 1, UNKNOWN: len(UNREADABLE)}
    assert counts.unknown == len(UNREADABLE)
    assert await keys_in(stored, UNKNOWN) == sorted(UNREADABLE)
    await put(backend, factory, "a/damaged", bytes_of("a/damaged", "v1"))
    assert (await stored.counts()).by_version == {"v1": 2, UNKNOWN: len(UNREADABLE) - 1}


async def test_counts_both_encodings(factory: StoreFactory, backend: Backend, stored: StoredVersions) -> None:
    """Find the version in CBOR, and in JSON with other fields or spaces before it."""
    obj = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "x", "ownerReferences": [{"apiVersion": "v1"}]}}
    await put(backend, factory, "a/cbor", stored_object.cbor(obj))
    await put(backend, factory, "a/early", b'{"a":{"apiVersion":"example.com/v9"},"apiVersion":"example.com/v2","kind":"Widget"}\n')
    await put(backend, factory, "a/spaced", b'{ "apiVersion" : "example.com/v2" }')

    assert (await stored.counts()).by_version == {"v2": 3}


async def test_counts_acknowledged_writes(make_factory: MakeFactory, codec: WidgetCodec) -> None:
    """Count what another server has written before the question, while it goes on writing."""
    here, there = await make_factory(), await make_factory()
    writing, counting = there.store(WIDGETS), here.store(WIDGETS)
    stored = here.stored_versions(WIDGETS)
    await counting.list("", codec, ListOptions())
    for number in range(20):
        await writing.create(f"a/{number}", widget(f"a/{number}"), codec)
        assert (await stored.counts()).of("v1") == number + 1

    async def delete_all() -> None:
        for number in range(20):
            await writing.delete(f"a/{number}", codec)

    deleting = asyncio.create_task(delete_all())
    seen = [(await stored.counts()).total for _ in range(10)]
    await deleting

    assert seen == sorted(seen, reverse=True)
    assert (await stored.counts()).by_version == {}


async def test_returns_stored_bytes(factory: StoreFactory, backend: Backend, stored: StoredVersions) -> None:
    """Return the bytes of an object as they are stored, also encrypted ones; None for a missing one."""
    revision = await put(backend, factory, "a/encrypted", UNREADABLE["a/encrypted"])
    found = await stored.get("a/encrypted")

    assert found is not None
    assert (found.value, found.revision) == (UNREADABLE["a/encrypted"], revision)
    assert await stored.get("a/missing") is None


async def test_counts_many_objects(factory: StoreFactory, backend: Backend, stored: StoredVersions) -> None:
    """Count and yield the objects of several pages."""
    keys = [f"a/{number:04}" for number in range(1100)]
    await asyncio.gather(*(put(backend, factory, key, bytes_of(key, "v1" if number % 2 else "v2")) for number, key in enumerate(keys)))

    assert (await stored.counts()).by_version == {"v1": 550, "v2": 550}
    assert await keys_in(stored, "v2") == keys[::2]
    revisions = dict([pair async for pair in stored.revisions()])
    assert list(revisions) == keys
    assert max(revisions.values()) == await put(backend, factory, "a/next", bytes_of("a/next", "v1")) - 1
