"""A resource's stored objects as bytes, for moves between stores without decoding."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Final

from apiext.storage.backend import Backend, KeyValue
from apiext.storage.paged_reads import latest_pages
from apiext.storage.writer import GuardedWrites, WriteGuard

_TOGETHER: Final = 128
"""Concurrent deletions: as many as fit into one transaction."""


class Outcome(StrEnum):
    """The outcome of a write."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class RawObjects:
    """Writes below the prefix of one resource, under a guard.

    Raises:
        BackendError: from every method, when the backend does not answer; methods also raise what the guard raises.
    """

    def __init__(self, *, backend: Backend, prefix: str, guard: WriteGuard) -> None:
        self._backend = backend
        self._prefix = prefix
        self._writes = GuardedWrites(backend, guard)

    async def put(self, key: str, data: bytes) -> Outcome:
        """Store an object as these bytes, regardless of the current value."""
        full = self._prefix + key
        found: KeyValue | None = None
        while True:
            if found is None:
                outcome, result = Outcome.CREATED, await self._writes.create(full, data)
            elif found.value == data and not found.stale:
                return Outcome.UNCHANGED
            else:
                outcome, result = Outcome.UPDATED, await self._writes.update(full, data, expected=found.revision)
            if result.succeeded:
                return outcome
            found = result.current

    async def remove(self, key: str) -> bool:
        """Delete an object. Return False if there is none."""
        found, _ = await self._backend.get(self._prefix + key)
        return await self._remove(found)

    async def _remove(self, found: KeyValue | None) -> bool:
        while found is not None:
            result = await self._writes.delete(found.key, expected=found.revision)
            if result.succeeded:
                return True
            found = result.current
        return False

    async def clear(self, scope: str) -> None:
        """Delete all objects below a prefix ("" for all, "namespace/")."""
        async for page in latest_pages(self._backend, self._prefix + scope):
            for first in range(0, len(page), _TOGETHER):
                await asyncio.gather(*map(self._remove, page[first : first + _TOGETHER]))

    async def keys(self) -> list[str]:
        """Return the keys of all objects."""
        return [pair.key[len(self._prefix) :] async for page in latest_pages(self._backend, self._prefix) for pair in page]
