"""Base of backends in front of another one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from apiext.storage.backend import Backend, WatchBatch


class ForwardingBackend:
    """Passes calls on to another backend, apart from reads and writes of values: subclasses implement those, and what else they change."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        """The backend behind this one."""

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        return await self.inner.count(prefix)

    def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        return self.inner.watch(prefix, start=start, previous=previous)

    async def request_progress(self) -> None:
        """Implement Backend.request_progress."""
        await self.inner.request_progress()

    async def revision(self) -> int:
        """Implement Backend.revision."""
        return await self.inner.revision()

    def known_revision(self) -> int | None:
        """Implement Backend.known_revision."""
        return self.inner.known_revision()

    async def compact(self, revision: int) -> None:
        """Implement Backend.compact."""
        await self.inner.compact(revision)

    async def compact_aged(self) -> None:
        """Implement Backend.compact_aged."""
        await self.inner.compact_aged()

    async def healthy(self) -> None:
        """Implement Backend.healthy."""
        await self.inner.healthy()

    async def writable(self) -> None:
        """Implement Backend.writable."""
        await self.inner.writable()

    def check_history(self) -> None:
        """Implement Backend.check_history."""
        self.inner.check_history()

    async def start_over(self) -> int:
        """Implement Backend.start_over."""
        return await self.inner.start_over()

    async def close(self) -> None:
        """Implement Backend.close."""
        await self.inner.close()
