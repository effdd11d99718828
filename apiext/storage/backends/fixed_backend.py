"""Backends without writes, and objects that never change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import ClassVar

from apiext.storage.backend import FutureRevisionError, Guard, KeyValue, RangeResult, UnavailableError, WatchBatch, WriteResult


class ReadOnlyBackend:
    """Refuses the writes of Backend. Subclasses give the reason.

    Raises:
        UnavailableError: from every write.
    """

    REFUSAL: ClassVar[str]

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Raise UnavailableError."""
        raise UnavailableError(self.REFUSAL)


class FixedBackend(ReadOnlyBackend):
    """Implements the reads and the watches of Backend.

    Raises:
        UnavailableError: from writes, always.
    """

    REFUSAL: ClassVar[str] = "the objects never change"

    def __init__(self, values: Mapping[str, bytes], *, revision: int) -> None:
        """Hold the values by key. All have the same revision, which changes from release to release with the values."""
        self._items = [KeyValue(key, values[key], revision) for key in sorted(values)]
        self._revision = revision

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        return next((item for item in self._items if item.key == key), None), self._revision

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list.

        Raises:
            FutureRevisionError: the revision is not that of the objects.
        """
        if revision > self._revision:
            raise FutureRevisionError(self._revision)
        found = [item for item in self._items if item.key.startswith(prefix) and item.key >= start]
        return RangeResult(found[:limit] if limit else found, self._revision, len(found))

    def stream(self, prefix: str, *, start: str, revision: int) -> None:
        """Implement Backend.stream: pages are as fast."""
        return

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        return (await self.list(prefix)).count

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch: report the revision, then nothing."""
        yield WatchBatch((), self._revision)
        await asyncio.Event().wait()

    async def request_progress(self) -> None:
        """Implement Backend.request_progress: do nothing."""

    async def revision(self) -> int:
        """Implement Backend.revision."""
        return self._revision

    def known_revision(self) -> int | None:
        """Implement Backend.known_revision."""
        return self._revision

    async def healthy(self) -> None:
        """Implement Backend.healthy."""

    async def writable(self) -> None:
        """Implement Backend.writable: nothing is ever written."""

    def check_history(self) -> None:
        """Implement Backend.check_history: the objects never change."""

    async def start_over(self) -> int:
        """Implement Backend.start_over."""
        return self._revision

    async def close(self) -> None:
        """Implement Backend.close."""

    async def compact(self, revision: int) -> None:
        """Implement Backend.compact: do nothing, without a history."""

    async def compact_aged(self) -> None:
        """Implement Backend.compact_aged: do nothing, without a history."""
