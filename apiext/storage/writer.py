"""Writes of a Store: create, guaranteed update and delete, over any backend, with an optional cached state.

Mirrors the write methods of apiserver pkg/storage/etcd3/store.go and pkg/registry/generic/registry/dryrun.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.limits import MAX_INLINE_BYTES, MAX_INLINE_RENDERING_BYTES
from apiext.base.meta.objectmeta.raw_metadata import read_metadata
from apiext.base.scheduling.inline_work import commit, current_work
from apiext.base.scheduling.side_thread import aside
from apiext.storage.backend import Backend, Guard, KeyValue, ValueTooLargeError, WriteResult
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyExistsError, KeyNotFoundError
from apiext.storage.interface import DEFAULT_WRITE, Codec, EncodedDraft, EncodedObject, Item, Preconditions, ServerStore, WriteOptions
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.renderer import Renderer, at_revision, compact, with_revision, without_revision, written_item
from apiext.storage.rendering.stored_entry import StoredEntry
from apiext.storage.rendering.version_view import VersionView

T = TypeVar("T")


class WriteGuard(Protocol):
    """Supplies each write's condition, which commits atomically with the write."""

    def decide(self, value: bytes | None, /) -> Guard | None:
        """Return the condition of a write of these stored bytes, None for no condition. The value None stands for a deletion.

        Raises:
            StatusError: the write is refused.
        """
        ...

    async def outdated(self, guard: Guard) -> None:
        """Refresh the state behind a condition that no longer holds. The caller then repeats `decide`.

        Raises:
            StatusError: the state cannot be refreshed.
            BackendError: the backend does not answer.
        """
        ...


@dataclass(slots=True, eq=False)
class GuardedWrites:
    """Writes of a backend under a guard's conditions, if there is a guard. Retries while a condition does not hold.

    Raises:
        BackendError: from every method, when the backend does not answer. Methods also raise the guard's errors.
    """

    _backend: Backend
    guard: WriteGuard | None = None

    def create(self, key: str, value: bytes) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.create."""
        return self._retry(partial(self._backend.create, key, value), value)

    def update(self, key: str, value: bytes, expected: int) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.update."""
        return self._retry(partial(self._backend.update, key, value, expected=expected), value)

    def delete(self, key: str, expected: int) -> Coroutine[Any, Any, WriteResult]:
        """See Backend.delete."""
        return self._retry(partial(self._backend.delete, key, expected=expected), None)

    async def _retry(self, write: Callable[..., Awaitable[WriteResult]], value: bytes | None) -> WriteResult:
        while self.guard is not None:
            condition = self.guard.decide(value)
            result = await write(guard=condition)
            if condition is None or not result.guard_failed:
                return result
            await self.guard.outdated(condition)
        return await write(guard=None)


@dataclass(slots=True)
class ObjectState:
    """The initial state of a write; revision 0 if absent (etcd3 objState)."""

    raw: bytes
    revision: int
    current: bool
    """Whether it was read from the backend for this write. Otherwise it may be outdated."""
    stale: bool = False
    """Whether it must be written even without a change. Known of a current state only."""
    item: Item | None = None
    """The rendering of the raw bytes, if there is one: faster to parse than to decode them."""


_ABSENT = ObjectState(raw=b"", revision=0, current=True)


@dataclass(slots=True)
class WriteEncoding:
    """An object ready to write."""

    encoded: EncodedObject
    source: Object
    draft: Item | None = None
    """Its rendering without resourceVersion, if it is stored in another version."""


def check_preconditions(preconditions: Preconditions | None, obj: Object, key: str) -> None:
    """Check the preconditions of a write.

    Raises:
        InvalidObjectError: one does not hold; the message is the reference's.
    """
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


def _check_size(state: ObjectState) -> None:
    """Let a worker process work on a large object."""
    current_work().check_size(max(len(state.raw), len(state.item.data) if state.item is not None else 0), MAX_INLINE_BYTES)


class Writer:
    """The write half of a Store, for one resource.

    A subclass with a cache overrides `keep_renderings`, `cached_state`, `is_latest`, `cached_item`, `written` and `_put`.
    """

    def __init__(self, *, backend: Backend, renderer: Renderer, guard: WriteGuard | None = None) -> None:
        """Create the writer. Every write depends on `guard`, and raises what it raises."""
        self.renderer = renderer
        self._backend = backend
        self._writes = GuardedWrites(backend, guard)

    @property
    def prefix(self) -> str:
        """Implement Store.prefix."""
        return self.renderer.prefix

    def keep_renderings(self, old: Codec, new: Codec) -> None:
        """Implement Store.keep_renderings."""

    def cached_state(self, key: str, codec: Codec) -> ObjectState | None:
        """Return a state for a write's first attempt, perhaps outdated; None to read the backend."""

    async def is_latest(self, key: str, revision: int) -> bool:
        """Implement Store.is_latest: only a read can tell."""
        return False

    def cached_item(self, key: str, codec: Codec) -> Item | None:
        """Implement Store.cached_item: nothing is cached."""

    def written(self, codec: Codec, item: Item) -> None:
        """Process the rendering of a created or updated object."""

    def _backend_key(self, key: str) -> str:
        return self.renderer.prefix + key

    async def _object(self, codec: Codec, key: str, state: ObjectState) -> Object:
        """Return the state's object for the caller to change; an empty one if there is none."""
        item = state.item
        if item is not None:
            obj = item.object()
            if item.is_checked:
                codec.recall(obj)
            return obj
        return await self.renderer.read(codec, key, state.raw, state.revision) if state.revision else {}

    async def _encode(self, codec: Codec, key: str, obj: Object, *, is_long: bool = False) -> WriteEncoding:
        """Encode an object, beside the event loop if it `is_long`.

        With a conversion, render it too: a failing converter then prevents the write.
        """
        if codec.conversion is None:
            encoded = await aside(partial(codec.encode, obj)) if is_long else codec.encode(obj)
            encoded.data = compact(encoded.data)
            return WriteEncoding(encoded, obj, self.renderer.item(codec, key, encoded.data, 0) if encoded.is_converted else None)
        encoded = codec.encode(await codec.conversion.to_storage(obj))
        return WriteEncoding(encoded, obj, await self.renderer.read_item(codec, key, encoded.data, 0))

    def _item(self, codec: Codec, key: str, encoding: WriteEncoding, revision: int) -> Item:
        if encoding.draft is not None:
            return at_revision(encoding.draft, revision)
        return self.renderer.written(codec, key, encoding.encoded, revision, encoding.source)

    def for_workers(self, codec: Codec) -> ServerStore:
        """Implement Store.for_workers."""
        return _ServerStore(codec, self._backend, self._writes, self._put, self.written)

    async def _initial_state(self, key: str, codec: Codec, options: WriteOptions) -> ObjectState:
        """Return the state for the first attempt. A dry run reads the backend: it has no write that would detect an outdated state."""
        state = None if options.dry_run else self.cached_state(key, codec)
        return state if state is not None else await self._read_state(key, options)

    async def _read_state(self, key: str, options: WriteOptions) -> ObjectState:
        pair, _ = await self._backend.get(self._backend_key(key))
        return self._state(key, pair, options)

    def _state(self, key: str, pair: KeyValue | None, options: WriteOptions) -> ObjectState:
        if pair is None:
            if options.ignore_not_found:
                return _ABSENT
            raise KeyNotFoundError(self._backend_key(key), "key not found")
        return ObjectState(raw=self.renderer.open(key, pair.value), revision=pair.revision, current=True, stale=pair.stale)

    async def _newer_state(self, key: str, state: ObjectState, options: WriteOptions) -> ObjectState | None:
        """Return the state in the backend, None if the given one is known to be that."""
        if state.current or await self.is_latest(key, state.revision):
            return None
        return await self._read_state(key, options)

    async def create(self, key: str, obj: Object, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Implement Store.create."""
        encoding = await self._encode(codec, key, obj)
        if options.dry_run:
            pair, _ = await self._backend.get(self._backend_key(key))
            if pair is not None:
                raise KeyExistsError(self._backend_key(key), "key exists")
            return self._item(codec, key, encoding, 0)
        encoding, result = await self._write(codec, key, encoding, partial(self._commit, codec, key, expected=0))
        if not result.succeeded:
            raise KeyExistsError(self._backend_key(key), "key exists")
        commit()
        item = self._item(codec, key, encoding, result.revision)
        self.written(codec, item)
        return item

    async def guaranteed_update(
        self, key: str, codec: Codec, update: Callable[[Object, int], Awaitable[Object]], options: WriteOptions = DEFAULT_WRITE
    ) -> tuple[Item, bool]:
        """Implement Store.guaranteed_update."""
        state = await self._initial_state(key, codec, options)
        while True:
            _check_size(state)
            try:
                obj = await self._object(codec, key, state)
                check_preconditions(options.preconditions, obj, self._backend_key(key))
                # writes of clients with large objects run in worker processes; those of the server itself run here
                is_long = codec.remote is None and len(state.raw) > MAX_INLINE_RENDERING_BYTES
                encoding = await self._encode(codec, key, await update(obj, state.revision), is_long=is_long)
            except Exception:
                newer = await self._newer_state(key, state, options)
                if newer is None or newer.revision == state.revision:
                    raise
                state = newer
                continue
            if options.dry_run:
                return self._item(codec, key, encoding, state.revision), not state.revision
            write = partial(self._replace, codec, key, state, options)
            encoding, outcome = await self._write(codec, key, encoding, write, keep_managers=options.keep_managers)
            if isinstance(outcome, int):
                commit()
                item = self._item(codec, key, encoding, outcome)
                self.written(codec, item)
                return item, not state.revision
            state = outcome

    async def _write(
        self,
        codec: Codec,
        key: str,
        encoding: WriteEncoding,
        write: Callable[[WriteEncoding], Awaitable[T]],
        *,
        keep_managers: bool = False,
    ) -> tuple[WriteEncoding, T]:
        """Write an encoding, or if it is too large, again without managedFields. Return the written encoding, and the outcome."""
        try:
            return encoding, await write(encoding)
        except ValueTooLargeError:
            metadata = dict(encoding.source["metadata"])
            if keep_managers or metadata.pop("managedFields", None) is None:
                raise
        encoding = await self._encode(codec, key, encoding.source | {"metadata": metadata})
        return encoding, await write(encoding)

    def _commit(self, codec: Codec, key: str, encoding: WriteEncoding, expected: int) -> Coroutine[Any, Any, WriteResult]:
        """Write an encoded object if the key has the expected revision (0: absent)."""
        return self._put(codec, self._backend_key(key), encoding.encoded.stored, expected, encoding.draft)

    def _put(self, codec: Codec, full: str, raw: bytes, expected: int, draft: Item | None) -> Coroutine[Any, Any, WriteResult]:
        """Write bytes under a key of the backend. `draft` is their rendering for a codec with conversion."""
        return self._writes.update(full, raw, expected) if expected else self._writes.create(full, raw)

    async def _replace(
        self, codec: Codec, key: str, state: ObjectState, options: WriteOptions, encoding: WriteEncoding
    ) -> int | ObjectState:
        """Return the revision of the object with the new bytes, or the state for the next attempt."""
        raw = encoding.encoded.stored
        if raw == state.raw and not state.stale:
            newer = await self._newer_state(key, state, options)
            if newer is None:
                return state.revision
            return newer.revision if raw == newer.raw and not newer.stale else newer
        result = await self._commit(codec, key, encoding, state.revision)
        return result.revision if result.succeeded else self._state(key, result.current, options)

    async def delete(self, key: str, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> Item:
        """Implement Store.delete."""
        state = await self._initial_state(key, codec, options)
        while True:
            _check_size(state)
            try:
                view, entry = VersionView(codec, self.renderer), StoredEntry(key, state.revision, state.raw)
                if state.item is None and not view.is_ready(entry):
                    state = replace(state, item=await view.shown(entry))
                if state.item is not None and not options.whole:
                    # a large object need not be parsed completely
                    obj: Object = {
                        "apiVersion": codec.gvk.api_version,
                        "kind": codec.gvk.kind,
                        "metadata": read_metadata(state.item.data),
                    }
                else:
                    obj = await self._object(codec, key, state)
                check_preconditions(options.preconditions, obj, self._backend_key(key))
                if options.validate is not None:
                    await options.validate(obj)
            except Exception:
                newer = await self._newer_state(key, state, options)
                if newer is None or newer.revision == state.revision:
                    raise
                state = newer
                continue
            if options.dry_run:
                return self._removed(codec, key, state, state.revision)
            result = await self._writes.delete(self._backend_key(key), expected=state.revision)
            if result.succeeded:
                commit()
                return self._removed(codec, key, state, result.revision)
            state = self._state(key, result.current, options)

    def _removed(self, codec: Codec, key: str, state: ObjectState, revision: int) -> Item:
        """Return an object's last state at the revision of its deletion."""
        item = state.item
        if item is not None and without_revision(item) == state.raw:
            return with_revision(item, revision)
        if item is not None:
            return at_revision(item, revision)
        return self.renderer.committed(codec, key, state.raw, revision)

    async def delete_unreadable(self, key: str, codec: Codec, options: WriteOptions = DEFAULT_WRITE) -> None:
        """Implement Store.delete_unreadable."""
        pair, _ = await self._backend.get(self._backend_key(key))
        while pair is not None:
            with suppress(CorruptObjectError):
                await VersionView(codec, self.renderer).shown(entries.read(self.renderer, key, pair.value, pair.revision))
                message = "unsafe deletion is not allowed because the object is decodable from storage"
                raise InvalidObjectError(self._backend_key(key), message)
            if options.dry_run:
                return
            result = await self._writes.delete(self._backend_key(key), expected=pair.revision)
            if result.succeeded:
                return
            pair = result.current
        raise KeyNotFoundError(self._backend_key(key), "key not found")


@dataclass(frozen=True, slots=True, eq=False)
class _ServerStore:
    """Implements ServerStore with the parts of a Writer."""

    _codec: Codec
    _backend: Backend
    _writes: GuardedWrites
    _put: Callable[[Codec, str, bytes, int, Item | None], Awaitable[WriteResult]]
    _written: Callable[[Codec, Item], None]

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement ServerStore.get."""
        return await self._backend.get(key)

    async def commit(self, key: str, raw: bytes, expected: int, draft: EncodedDraft | Item | None) -> WriteResult:
        """Implement ServerStore.commit."""
        result = await self._put(self._codec, key, raw, expected, draft if isinstance(draft, Item) else None)
        if result.succeeded:
            commit()
        if result.succeeded and draft is not None:
            # before the event of the write arrives, which would be rendered otherwise
            item = at_revision(draft, result.revision) if isinstance(draft, Item) else written_item(draft, result.revision)
            self._written(self._codec, item)
        return result

    async def delete(self, key: str, expected: int) -> WriteResult:
        """Implement ServerStore.delete."""
        result = await self._writes.delete(key, expected)
        if result.succeeded:
            commit()
        return result

    async def written(self, item: Item) -> None:
        """Implement ServerStore.written."""
        self._written(self._codec, item)
