"""Writes: create, guarded update and delete, the same over every backend, with or without a cached state to begin from.

Mirrors the writing half of apiserver pkg/storage/etcd3/store.go and pkg/registry/generic/registry/dryrun.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from apiext.meta import background
from apiext.storage.interface import CorruptObjectError, InvalidObjectError, KeyExistsError, KeyNotFoundError, Preconditions
from apiext.storage.rendering import tight, with_revision, without_revision
from apiext.storage.write_guards import UNGUARDED, WriteGuard, decided

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.meta.json_codec import Object
    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.interface import Codec, Item
    from apiext.storage.rendering import Renderer


@dataclass(frozen=True, slots=True)
class State:
    """What a write begins from; absent at revision 0."""

    raw: bytes
    revision: int
    current: bool
    """Read from the backend for this write; else it may be outdated."""
    stale: bool = False
    """To be written anew even if nothing changed."""
    item: Item | None = None
    """The rendering of the raw bytes, if there is one: parsing it is cheaper than decoding."""


_ABSENT = State(raw=b"", revision=0, current=True)


def check(preconditions: Preconditions | None, obj: Object, key: str) -> None:
    """Raise InvalidObjectError, in the reference's words, when an object is not the one that is meant."""
    if preconditions is None:
        return
    metadata = obj.get("metadata", {})
    for name, label, wanted in (
        ("uid", "UID", preconditions.uid),
        ("resourceVersion", "ResourceVersion", preconditions.resource_version),
    ):
        found = metadata.get(name, "")
        if wanted is not None and wanted != found:
            message = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {found}"
            raise InvalidObjectError(key, message)


class Writer:
    """Writes the objects of one resource."""

    def __init__(self, *, backend: Backend, renderer: Renderer) -> None:
        self._backend = backend
        self._renderer = renderer
        self.guard: WriteGuard = UNGUARDED
        """What writes depend on from now on."""

    def _full(self, key: str) -> str:
        return self._renderer.prefix + key

    def _object(self, codec: Codec, key: str, state: State) -> Object:
        """The state's object, the caller's own; an empty one when there is none."""
        if state.item is not None:
            return state.item.object()
        return self._renderer.decode(codec, key, state.raw, state.revision) if state.revision else {}

    async def _fresh(self, key: str, *, ignore_not_found: bool = False) -> State:
        pair, _ = await self._backend.get(self._full(key))
        return self._state(key, pair, ignore_not_found=ignore_not_found)

    def _state(self, key: str, pair: KeyValue | None, *, ignore_not_found: bool) -> State:
        if pair is None:
            if ignore_not_found:
                return _ABSENT
            raise KeyNotFoundError(self._full(key), "key not found")
        raw, stale = self._renderer.open(key, pair.value)
        return State(raw=raw, revision=pair.revision, current=True, stale=stale)

    async def create(self, key: str, obj: Object, codec: Codec, *, dry_run: bool) -> Item:
        """Store a new object; raises KeyExistsError."""
        raw = tight(await background.run(codec.encode, obj))
        if dry_run:
            pair, _ = await self._backend.get(self._full(key))
            if pair is not None:
                raise KeyExistsError(self._full(key), "key exists")
            return self._renderer.item(codec, key, raw, 0, source=obj)
        result = await decided(self.guard, partial(self._backend.create, self._full(key), self._renderer.seal(key, raw)))
        if not result.succeeded:
            raise KeyExistsError(self._full(key), "key exists")
        return self._renderer.item(codec, key, raw, result.revision, source=obj)

    async def update(
        self,
        key: str,
        codec: Codec,
        update: Callable[[Object, int], Awaitable[Object]],
        *,
        preconditions: Preconditions | None,
        ignore_not_found: bool,
        dry_run: bool,
        begin: State | None,
    ) -> tuple[Item, bool]:
        """Implements Store.guaranteed_update, with a state to begin from."""
        state = begin if begin is not None else await self._fresh(key, ignore_not_found=ignore_not_found)
        while True:
            try:
                obj = self._object(codec, key, state)
                check(preconditions, obj, self._full(key))
                new = await update(obj, state.revision)
                raw = tight(await background.run(codec.encode, new))
            except Exception:
                fresh = await self._second_try(key, state, ignore_not_found=ignore_not_found)
                if fresh is None:
                    raise
                state = fresh
                continue
            if dry_run:
                return self._renderer.item(codec, key, raw, state.revision, source=new), not state.revision
            if raw == state.raw and not state.stale:
                if not state.current:
                    state = await self._fresh(key, ignore_not_found=ignore_not_found)
                    if raw != state.raw:
                        continue
                if not state.stale:
                    return self._renderer.item(codec, key, raw, state.revision, source=new), False
            written = await self._write(key, raw, state, ignore_not_found=ignore_not_found)
            if isinstance(written, int):
                return self._renderer.item(codec, key, raw, written, source=new), not state.revision
            state = written

    async def _second_try(self, key: str, state: State, *, ignore_not_found: bool) -> State | None:
        """The backend's state after a failure that an outdated one may have caused; None when it was not outdated."""
        if state.current:
            return None
        fresh = await self._fresh(key, ignore_not_found=ignore_not_found)
        return fresh if fresh.revision != state.revision else None

    async def _write(self, key: str, raw: bytes, state: State, *, ignore_not_found: bool) -> int | State:
        """The revision of the write, or the state that was in its way."""
        full, value = self._full(key), self._renderer.seal(key, raw)
        if state.revision:
            result = await decided(self.guard, partial(self._backend.update, full, value, expected=state.revision))
        else:
            result = await decided(self.guard, partial(self._backend.create, full, value))
        if result.succeeded:
            return result.revision
        return self._state(key, result.current, ignore_not_found=ignore_not_found)

    async def delete(
        self,
        key: str,
        codec: Codec,
        *,
        preconditions: Preconditions | None,
        validate: Callable[[Object], Awaitable[None]] | None,
        dry_run: bool,
        begin: State | None,
    ) -> Item:
        """Implements Store.delete, with a state to begin from."""
        state = begin if begin is not None else await self._fresh(key)
        while True:
            try:
                obj = self._object(codec, key, state)
                check(preconditions, obj, self._full(key))
                if validate is not None:
                    await validate(obj)
            except Exception:
                fresh = await self._second_try(key, state, ignore_not_found=False)
                if fresh is None:
                    raise
                state = fresh
                continue
            if dry_run:
                return self._renderer.item(codec, key, state.raw, state.revision)
            result = await decided(self.guard, partial(self._backend.delete, self._full(key), expected=state.revision))
            if result.succeeded:
                return self._removed(codec, key, state, result.revision)
            state = self._state(key, result.current, ignore_not_found=False)

    def _removed(self, codec: Codec, key: str, state: State, revision: int) -> Item:
        """The last state of an object at the revision of its going."""
        item = state.item
        if item is not None and without_revision(item) == state.raw:
            return with_revision(item, revision)
        return self._renderer.item(codec, key, state.raw, revision)

    async def delete_unreadable(self, key: str, codec: Codec, *, dry_run: bool) -> None:
        """Implements Store.delete_unreadable."""
        pair, _ = await self._backend.get(self._full(key))
        while pair is not None:
            if self._is_readable(key, codec, pair):
                message = "unsafe deletion is not allowed because the object is decodable from storage"
                raise InvalidObjectError(self._full(key), message)
            if dry_run:
                return
            result = await decided(self.guard, partial(self._backend.delete, self._full(key), expected=pair.revision))
            if result.succeeded:
                return
            pair = result.current
        raise KeyNotFoundError(self._full(key), "key not found")

    def _is_readable(self, key: str, codec: Codec, pair: KeyValue) -> bool:
        try:
            self._renderer.decode(codec, key, self._renderer.open(key, pair.value)[0], pair.revision)
        except CorruptObjectError:
            return False
        return True
