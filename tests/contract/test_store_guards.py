"""Writes of a Store that depend on another key, on every backend, with and without a cache."""

from collections.abc import Awaitable, Callable

import pytest

from apiext.base.meta import errors
from apiext.base.meta.encoding.json_codec import Object
from apiext.storage.backend import Backend, Guard
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Item, ListOptions, Store, WriteOptions
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, widget


class Gate:
    """A key whose value permits writes or not, and the cached decision about it."""

    def __init__(self, backend: Backend, key: str) -> None:
        self._backend = backend
        self._key = key
        self.known = Guard(key, 0)
        self.is_open = True
        self.decisions = 0

    def decide(self, _value: bytes | None, /) -> Guard:
        """Implement WriteGuard.decide."""
        self.decisions += 1
        if not self.is_open:
            raise errors.too_many_requests("the gate is closed", 1)
        return self.known

    async def outdated(self, guard: Guard) -> None:
        """Implement WriteGuard.outdated."""
        assert guard == self.known
        pair, _ = await self._backend.get(self._key)
        assert pair is not None
        self.known, self.is_open = Guard(self._key, pair.revision), pair.value == b"open"

    async def set(self, value: bytes) -> None:
        """Change the key without an update of the cached decision."""
        pair, _ = await self._backend.get(self._key)
        if pair is None:
            await self._backend.create(self._key, value)
        else:
            await self._backend.update(self._key, value, expected=pair.revision)


async def names(store: Store, codec: WidgetCodec) -> set[str]:
    """Return the names of the existing widgets."""
    return {item.fields["metadata.name"] for item in (await store.list("", codec, ListOptions())).items}


@pytest.fixture
def gate(backend: Backend, prefix: str) -> Gate:
    """Return the guard of the store."""
    return Gate(backend, f"{prefix}gate")


@pytest.fixture
async def store(factory: StoreFactory, gate: Gate, codec: WidgetCodec) -> Store:
    """Return a guarded store that has one widget."""
    store = factory.store(WIDGETS, gate)
    await store.create("a/old", widget("a/old", color="red"), codec)
    gate.decisions = 0
    return store


async def _create(store: Store, codec: WidgetCodec) -> Item:
    return await store.create("a/new", widget("a/new"), codec)


async def _update(store: Store, codec: WidgetCodec) -> Item:
    return await change(store, codec, "a/old", color="blue")


async def _create_by_update(store: Store, codec: WidgetCodec) -> Item:
    async def update(_: Object, _revision: int) -> Object:
        return widget("a/new")

    return (await store.guaranteed_update("a/new", codec, update, WriteOptions(ignore_not_found=True)))[0]


async def _delete(store: Store, codec: WidgetCodec) -> Item:
    return await store.delete("a/old", codec)


WRITES = pytest.mark.parametrize(
    "write, left",
    [(_create, {"old", "new"}), (_update, {"old"}), (_create_by_update, {"old", "new"}), (_delete, set())],
)
Write = Callable[[Store, WidgetCodec], Awaitable[Item]]


@WRITES
async def test_repeats_an_outdated_decision(gate: Gate, store: Store, codec: WidgetCodec, write: Write, left: set[str]) -> None:
    """Write once when the decision is outdated and the new one permits the write."""
    await gate.set(b"open")
    before = (await store.get("a/old", codec)).revision
    written = await write(store, codec)

    assert gate.decisions == 2
    assert written.revision > before
    assert await names(store, codec) == left


@pytest.mark.parametrize("write", [_create, _update, _create_by_update, _delete])
async def test_rejects_by_the_new_decision(gate: Gate, store: Store, codec: WidgetCodec, write: Write) -> None:
    """Write nothing and raise the new decision's error when the decision is outdated and the new one rejects the write."""
    await gate.set(b"closed")
    before = (await store.get("a/old", codec)).revision
    with pytest.raises(errors.StatusError, match="the gate is closed"):
        await write(store, codec)

    assert await names(store, codec) == {"old"}
    assert (await store.get("a/old", codec)).revision == before


async def test_skips_the_guard_when_nothing_is_written(gate: Gate, store: Store, codec: WidgetCodec) -> None:
    """Ask for no decision in a dry run or when nothing changes."""
    await gate.set(b"closed")
    await store.create("a/new", widget("a/new"), codec, WriteOptions(dry_run=True))
    await store.delete("a/old", codec, WriteOptions(dry_run=True))
    await change(store, codec, "a/old", color="red")

    assert gate.decisions == 0
