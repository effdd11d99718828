"""Stored objects of a resource as bytes, for moving them between stores without decoding."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.storage.interface import CorruptObjectError
from apiext.storage.write_guards import retry_guarded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.rendering import Renderer
    from apiext.storage.write_guards import WriteGuard

_PAGE_KEYS: Final = 500  # objects
_TOGETHER: Final = 128
"""Concurrent deletions: as many as share a transaction."""


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

    def __init__(self, *, backend: Backend, renderer: Renderer, guard: WriteGuard) -> None:
        self._backend = backend
        self._renderer = renderer
        self._guard = guard

    async def put(self, key: str, data: bytes) -> Outcome:
        """Store an object as these bytes, whatever is stored now."""
        full, value = self._renderer.prefix + key, self._renderer.seal(key, data)
        found: KeyValue | None = None
        while True:
            if found is None:
                outcome, write = Outcome.CREATED, partial(self._backend.create, full, value)
            elif self._holds(key, found, data):
                return Outcome.UNCHANGED
            else:
                outcome, write = Outcome.UPDATED, partial(self._backend.update, full, value, expected=found.revision)
            result = await retry_guarded(self._guard, write)
            if result.succeeded:
                return outcome
            found = result.current

    def _holds(self, key: str, found: KeyValue, data: bytes) -> bool:
        """Report whether the stored value equals the data."""
        try:
            return self._renderer.open(key, found.value) == (data, False)
        except CorruptObjectError:
            return False

    async def remove(self, key: str) -> bool:
        """Delete an object; return False if there is none."""
        found, _ = await self._backend.get(self._renderer.prefix + key)
        return await self._remove(found)

    async def _remove(self, found: KeyValue | None) -> bool:
        while found is not None:
            result = await retry_guarded(self._guard, partial(self._backend.delete, found.key, expected=found.revision))
            if result.succeeded:
                return True
            found = result.current
        return False

    async def clear(self, scope: str) -> None:
        """Delete all objects below a prefix ("" for all, "namespace/")."""
        async for page in self._pages(scope):
            for first in range(0, len(page), _TOGETHER):
                await asyncio.gather(*map(self._remove, page[first : first + _TOGETHER]))

    async def keys(self) -> list[str]:
        """Return the keys of all objects."""
        return [pair.key[len(self._renderer.prefix) :] async for page in self._pages("") for pair in page]

    async def _pages(self, scope: str) -> AsyncIterator[Sequence[KeyValue]]:
        start = ""
        while True:
            result = await self._backend.list(self._renderer.prefix + scope, start=start, limit=_PAGE_KEYS)
            yield result.items
            if not result.more:
                return
            start = f"{result.items[-1].key}\0"
