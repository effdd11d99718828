"""Repair of stored objects whose bytes cannot be decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.limits import MAX_INLINE_RENDERING_BYTES
from apiext.base.scheduling.time_slice import paced
from apiext.storage import stored_object
from apiext.storage.errors import CorruptObjectError, InvalidObjectError, KeyNotFoundError
from apiext.storage.rendering import stored_entry as entries
from apiext.storage.rendering.renderer import Renderer, as_stored
from apiext.storage.rendering.version_view import VersionView
from apiext.storage.stored_object import UnreadableObject
from apiext.storage.writer import GuardedWrites, WriteGuard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.storage.backend import Backend, KeyValue, WriteResult
    from apiext.storage.interface import Codec
    from apiext.storage.rendering.stored_entry import StoredEntry


class Repair:
    """Recognizes, replaces and deletes unreadable objects of one resource, with the codec of its storage version.

    Raises:
        BackendError: from every method, when the backend does not answer; writes also raise what the guard raises.
    """

    def __init__(self, *, backend: Backend, renderer: Renderer, codec: Codec, guard: WriteGuard | None = None) -> None:
        self._backend = backend
        self._renderer = renderer
        self._codec = codec
        self._writes = GuardedWrites(backend, guard)

    async def unreadable(self, pairs: Sequence[KeyValue]) -> list[UnreadableObject]:
        """Return the undecodable objects among some stored ones.

        Objects with failing conversions do not count: their own version shows them, and the webhook may answer later.
        """
        read = [self._entry(pair.key[len(self._renderer.prefix) :], pair.value, pair.revision) for pair in pairs]
        found: list[UnreadableObject] = []
        for pair, one, error in zip(pairs, read, await self._errors(read), strict=True):
            if error is not None:
                version = stored_object.api_version(pair.value)
                found.append(UnreadableObject(one.key, pair.revision, len(pair.value), version, error.message))
        return found

    async def _errors(self, read: Sequence[StoredEntry]) -> list[CorruptObjectError | None]:
        """Return the error of each entry that cannot be decoded."""
        if self._codec.conversion is None:
            shown = await VersionView(self._codec, self._renderer).items(read)
            return [one if isinstance(one, CorruptObjectError) else None for one in shown]
        return [await self._error(one) async for one in paced(read)]

    async def _error(self, entry: StoredEntry) -> CorruptObjectError | None:
        """Return the error of an entry that cannot be decoded; a worker process decodes a large one."""
        remote = self._codec.remote
        try:
            stored = (entry.key, entry.raw, entry.revision)
            if remote is not None and entry.size > MAX_INLINE_RENDERING_BYTES:
                return await remote.check(self._renderer.prefix, stored)
            self._renderer.decode(self._codec, *stored)
        except CorruptObjectError as error:
            return error
        return None

    async def replace(self, key: str, data: bytes, *, revision: int, encode: bool = False) -> int:
        """Replace an object if it still has the revision (0: create it). Return the new one. With `encode`, write the storage version.

        Raises:
            CorruptObjectError: the new bytes cannot be decoded, or for `encode` converted.
            StatusError: the converter does not answer.
            KeyNotFoundError: the object does not exist.
            InvalidObjectError: it has another revision, or exists already.
        """
        entry = self._entry(key, data, revision)
        (error,) = await self._errors([entry])
        if error is not None:
            raise error
        full = self._renderer.prefix + key
        stored = as_stored(self._codec, await VersionView(self._codec, self._renderer).shown(entry)) if encode else data
        written = self._writes.update(full, stored, revision) if revision else self._writes.create(full, stored)
        return _revision(full, await written, revision)

    async def delete(self, key: str, *, revision: int) -> None:
        """Delete an unreadable object if it still has the revision.

        Raises:
            KeyNotFoundError: the object does not exist.
            InvalidObjectError: it has another revision, or is readable.
        """
        full = self._renderer.prefix + key
        pair, _ = await self._backend.get(full)
        if pair is not None and not await self.unreadable([pair]):
            raise InvalidObjectError(full, "the object can be read, and is deleted through the API")
        _revision(full, await self._writes.delete(full, revision), revision)

    def _entry(self, key: str, data: bytes, revision: int) -> StoredEntry:
        return entries.read(self._renderer, key, data, revision)


def _revision(key: str, result: WriteResult, expected: int) -> int:
    """Return the revision of a write. Raises KeyNotFoundError or InvalidObjectError if it failed."""
    if result.succeeded:
        return result.revision
    if result.current is None:
        raise KeyNotFoundError(key, "key not found")
    raise InvalidObjectError(key, f"the object has revision {result.current.revision}, not {expected}")
