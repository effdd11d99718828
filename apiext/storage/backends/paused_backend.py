"""Stands in for a backend while its data cannot be used: calls wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.storage.backend import UnavailableError
from apiext.storage.backends.forwarding_backend import ForwardingBackend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from apiext.storage.backend import Backend, Guard, KeyValue, RangeResult, WatchBatch, WriteResult

PATIENCE_SECONDS: Final = 10.0
"""Seconds that calls wait for the end of the pause."""


class PausedBackend(ForwardingBackend):
    """Implements Backend: calls wait for `go_on`, and then continue with the backend that it gives.

    Raises:
        UnavailableError: from every call, after some seconds. Nothing was read or written.
    """

    def __init__(self, inner: Backend, reason: str) -> None:
        """Stand in for a backend, which tells its health meanwhile."""
        super().__init__(inner)
        self._reason = reason
        self._next: asyncio.Future[Backend] = asyncio.get_running_loop().create_future()

    def go_on(self, backend: Backend) -> None:
        """Continue with a backend."""
        if not self._next.done():
            self._next.set_result(backend)

    async def _continued(self) -> Backend:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await asyncio.shield(self._next)
        except TimeoutError as error:
            raise UnavailableError(f"{self._reason}: the objects are being read again") from error

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        return await (await self._continued()).get(key)

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        return await (await self._continued()).list(prefix, start=start, revision=revision, limit=limit)

    def stream(self, prefix: str, *, start: str, revision: int) -> None:
        """Implement Backend.stream: pages wait."""

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        return await (await self._continued()).count(prefix)

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create."""
        return await (await self._continued()).create(key, value, guard=guard)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update."""
        return await (await self._continued()).update(key, value, expected=expected, guard=guard)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        return await (await self._continued()).delete(key, expected=expected, guard=guard)

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        async for batch in (await self._continued()).watch(prefix, start=start, previous=previous):
            yield batch

    async def request_progress(self) -> None:
        """Implement Backend.request_progress."""
        await (await self._continued()).request_progress()

    async def revision(self) -> int:
        """Implement Backend.revision."""
        return await (await self._continued()).revision()

    def known_revision(self) -> None:
        """Implement Backend.known_revision: unknown."""

    async def compact(self, revision: int) -> None:
        """Implement Backend.compact."""
        await (await self._continued()).compact(revision)

    async def compact_aged(self) -> None:
        """Implement Backend.compact_aged."""
        await (await self._continued()).compact_aged()

    def check_history(self) -> None:
        """Implement Backend.check_history: known already."""

    async def close(self) -> None:
        """Implement Backend.close."""
        self._next.cancel()
        await super().close()
