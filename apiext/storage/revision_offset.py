"""Revisions that begin where those of another store have not come to.

A store that takes over objects which clients have read from another one must not go back behind what they have seen. So all its
revisions are its own plus a base that is greater than any revision of the other store; what lies below is the other one's
past, and counts as compacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from apiext.meta import host_annotations
from apiext.storage import keys, streams
from apiext.storage.backend import (
    BackendError,
    BackendEvent,
    CompactedError,
    FutureRevisionError,
    Guard,
    KeyValue,
    RangeResult,
    WatchBatch,
    WriteResult,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from apiext.storage.backend import Backend

_MEMBER: Final = "base"
_NEVER: Final = -1
"""A revision that no key has."""


class BasedBackend:
    """Implements Backend over another one, with a base in all revisions."""

    def __init__(self, backend: Backend, base: int) -> None:
        self._backend = backend
        self._base = base

    # --- revisions --------------------------------------------------------------------------------------------------

    def _own(self, revision: int) -> int:
        """A revision as the store below counts; 0 stays what it means. Raises CompactedError for what lies below the base."""
        if not revision:
            return 0
        if revision <= self._base:
            raise CompactedError(self._base + 1)
        return revision - self._base

    def _expected(self, revision: int) -> int:
        """The revision that a key must have, as the store below counts."""
        return revision and (revision - self._base if revision > self._base else _NEVER)

    def _pair(self, pair: KeyValue | None) -> KeyValue | None:
        return None if pair is None else KeyValue(pair.key, pair.value, pair.revision + self._base)

    def _written(self, result: WriteResult) -> WriteResult:
        return WriteResult(result.succeeded, result.revision + self._base, self._pair(result.current), result.guard_failed)

    def _guard(self, guard: Guard | None) -> Guard | None:
        return guard and Guard(guard.key, self._expected(guard.expected))

    def _compacted(self, error: CompactedError) -> CompactedError:
        return CompactedError(error.compact_revision + self._base)

    # --- reads ------------------------------------------------------------------------------------------------------

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """As `Backend.get`."""
        pair, revision = await self._backend.get(key)
        return self._pair(pair), revision + self._base

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """As `Backend.list`."""
        base, at = self._base, self._own(revision)
        try:
            found = await self._backend.list(prefix, start=start, revision=at, limit=limit)
        except FutureRevisionError as error:
            raise FutureRevisionError(error.current + base) from error
        except CompactedError as error:
            raise self._compacted(error) from error
        items = [KeyValue(pair.key, pair.value, pair.revision + base) for pair in found.items]
        return RangeResult(items, found.revision + base, found.count)

    async def count(self, prefix: str) -> int:
        """As `Backend.count`."""
        return await self._backend.count(prefix)

    # --- writes -----------------------------------------------------------------------------------------------------

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """As `Backend.create`."""
        return self._written(await self._backend.create(key, value, guard=self._guard(guard)))

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.update`."""
        own = self._expected(expected)
        return self._written(await self._backend.update(key, value, expected=own, guard=self._guard(guard)))

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.delete`."""
        own = self._expected(expected)
        return self._written(await self._backend.delete(key, expected=own, guard=self._guard(guard)))

    # --- watches ----------------------------------------------------------------------------------------------------

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """As `Backend.watch`."""
        begin = self._own(start)
        try:
            async with streams.closing(self._backend.watch(prefix, start=begin, previous=previous)) as batches:
                async for batch in batches:
                    yield WatchBatch([self._event(event) for event in batch.events], batch.revision + self._base)
        except CompactedError as error:
            raise self._compacted(error) from error

    def _event(self, event: BackendEvent) -> BackendEvent:
        return BackendEvent(event.key, event.revision + self._base, event.value, self._pair(event.previous))

    async def request_progress(self) -> None:
        """As `Backend.request_progress`."""
        await self._backend.request_progress()

    # --- the store as a whole ---------------------------------------------------------------------------------------

    async def revision(self) -> int:
        """As `Backend.revision`."""
        return await self._backend.revision() + self._base

    def known_revision(self) -> int | None:
        """As `Backend.known_revision`."""
        known = self._backend.known_revision()
        return None if known is None else known + self._base

    async def compact(self, revision: int) -> None:
        """As `Backend.compact`."""
        try:
            await self._backend.compact(max(revision - self._base, 1))
        except FutureRevisionError as error:
            raise FutureRevisionError(error.current + self._base) from error

    async def compact_aged(self) -> None:
        """As `Backend.compact_aged`."""
        await self._backend.compact_aged()

    async def healthy(self) -> None:
        """As `Backend.healthy`."""
        await self._backend.healthy()

    async def close(self) -> None:
        """As `Backend.close`."""
        await self._backend.close()


# --- the record -----------------------------------------------------------------------------------------------------


def record_key(prefix: str) -> str:
    """Where the base is recorded, for all servers on the store and for ever."""
    return f"{keys.root(prefix)}{host_annotations.DOMAIN}/revision-base"


async def with_base(backend: Backend, prefix: str, *, begin: bool) -> Backend:
    """The backend with the base that its store has; one without any as it is, unless `begin` has it recorded now.

    Raises BackendError when the store does not answer, or when its record cannot be understood.
    """
    key = record_key(prefix)
    pair, _ = await backend.get(key)
    if pair is None and begin:
        # of several servers that begin at once one is first, and all take what it wrote
        await backend.create(key, orjson.dumps({_MEMBER: host_annotations.REVISION_BASE}) + b"\n")
        pair, _ = await backend.get(key)
    return backend if pair is None else BasedBackend(backend, _base(pair))


def _base(pair: KeyValue) -> int:
    try:
        base = orjson.loads(pair.value)[_MEMBER]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BackendError(f"the base of revisions in {pair.key} cannot be read: {error}") from error
    if type(base) is not int or base < 0:
        raise BackendError(f"the base of revisions in {pair.key} is no positive number")
    return base
