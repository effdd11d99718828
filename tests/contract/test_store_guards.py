"""Writes of a Store that depend on something else, over every backend, with and without a cache."""

from collections.abc import Awaitable, Callable

import pytest

from apiext.meta import errors
from apiext.meta.json_codec import Object
from apiext.storage.backend import Backend, Guard
from apiext.storage.interface import Item, ListOptions, Store
from tests.support.builders.widgets import WidgetCodec, change, widget


class Gate:
    """A key that tells whether writes are let through, and what this server knows of it."""

    def __init__(self, backend: Backend, key: str) -> None:
        self._backend = backend
        self._key = key
        self.known = Guard(key, 0)
        self.is_open = True
        self.decisions = 0

    def decide(self) -> Guard:
        """Implements WriteGuard.decide."""
        self.decisions += 1
        if not self.is_open:
            raise errors.too_many_requests("the gate is closed", 1)
        return self.known

    async def outdated(self, guard: Guard) -> None:
        """Implements WriteGuard.outdated."""
        assert guard == self.known
        pair, _ = await self._backend.get(self._key)
        assert pair is not None
        self.known, self.is_open = Guard(self._key, pair.revision), pair.value == b"open"

    async def become(self, value: bytes) -> None:
        """Change behind this server's back."""
        pair, _ = await self._backend.get(self._key)
        if pair is None:
            await self._backend.create(self._key, value)
        else:
            await self._backend.update(self._key, value, expected=pair.revision)


async def names(store: Store, codec: WidgetCodec) -> set[str]:
    """The names of the widgets that are there."""
    return {item.fields["metadata.name"] for item in (await store.list("", codec, ListOptions())).items}


@pytest.fixture
async def gate(backend: Backend, prefix: str, store: Store, codec: WidgetCodec) -> Gate:
    """A gate in front of a store that has a widget."""
    gate = Gate(backend, f"{prefix}gate")
    await store.create("a/old", widget("a/old", color="red"), codec)
    store.guard_writes(gate)
    return gate


async def _create(store: Store, codec: WidgetCodec) -> Item:
    return await store.create("a/new", widget("a/new"), codec)


async def _update(store: Store, codec: WidgetCodec) -> Item:
    return await change(store, codec, "a/old", color="blue")


async def _create_by_update(store: Store, codec: WidgetCodec) -> Item:
    async def update(_: Object, _revision: int) -> Object:
        return widget("a/new")

    return (await store.guaranteed_update("a/new", codec, update, ignore_not_found=True))[0]


async def _delete(store: Store, codec: WidgetCodec) -> Item:
    return await store.delete("a/old", codec)


WRITES = pytest.mark.parametrize(
    "write, left",
    [(_create, {"old", "new"}), (_update, {"old"}), (_create_by_update, {"old", "new"}), (_delete, set())],
)
Write = Callable[[Store, WidgetCodec], Awaitable[Item]]


@WRITES
async def test_an_outdated_decision_is_made_anew(gate: Gate, store: Store, codec: WidgetCodec, write: Write, left: set[str]) -> None:
    """When what was decided by has changed, and still lets writes through, the write is done once."""
    await gate.become(b"open")
    before = (await store.get("a/old", codec)).revision
    written = await write(store, codec)

    assert gate.decisions == 2
    assert written.revision > before
    assert await names(store, codec) == left


@pytest.mark.parametrize("write", [_create, _update, _create_by_update, _delete])
async def test_a_decision_that_turns_out_otherwise(gate: Gate, store: Store, codec: WidgetCodec, write: Write) -> None:
    """When what was decided by has changed and refuses, nothing is written and the refusal is told."""
    await gate.become(b"closed")
    before = (await store.get("a/old", codec)).revision
    with pytest.raises(errors.StatusError, match="the gate is closed"):
        await write(store, codec)

    assert await names(store, codec) == {"old"}
    assert (await store.get("a/old", codec)).revision == before


async def test_a_dry_run_and_no_change_ask_for_nothing(gate: Gate, store: Store, codec: WidgetCodec) -> None:
    """What writes nothing depends on nothing."""
    await gate.become(b"closed")
    await store.create("a/new", widget("a/new"), codec, dry_run=True)
    await store.delete("a/old", codec, dry_run=True)
    await change(store, codec, "a/old", color="red")

    assert gate.decisions == 0
