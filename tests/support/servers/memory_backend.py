"""A Backend in memory for tests of stores. Tests can make it fail."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator

from apiext.storage.backend import (
    BackendEvent,
    CompactedError,
    FutureRevisionError,
    Guard,
    HistoryLostError,
    KeyValue,
    RangeResult,
    UnavailableError,
    WatchBatch,
    WriteResult,
)
from tests.support.event_loop import until


class MemoryBackend:
    """Implements backend.Backend over a list of all changes."""

    def __init__(self) -> None:
        self._revision = 1
        self._log: list[BackendEvent] = []
        self.state: dict[str, KeyValue] = {}
        self._compacted = 0
        self._aged = 0
        self._news = asyncio.Condition()
        self._progress = 0
        self._waiting = 0
        self.is_closed = False
        self._epoch = 0
        self.calls: dict[str, int] = {}
        self.gate = asyncio.Event()
        """While not set, calls wait, as for a backend that answers late or never."""
        self.gate.set()
        self.broken = False
        """Calls raise UnavailableError, and open watches break."""
        self.deaf = False
        """Watches send nothing, not even progress."""

    async def _enter(self, call: str) -> None:
        self.calls[call] = self.calls.get(call, 0) + 1
        await self.gate.wait()
        if self.broken or self.is_closed:
            raise UnavailableError("the backend is broken")

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        await self._enter("get")
        return self.state.get(key), self._revision

    def _at(self, revision: int) -> dict[str, KeyValue]:
        state: dict[str, KeyValue] = {}
        for event in self._log:
            if event.revision > revision:
                break
            if event.value is None:
                state.pop(event.key, None)
            else:
                state[event.key] = KeyValue(event.key, event.value, event.revision)
        return state

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        await self._enter("list")
        if revision > self._revision:
            raise FutureRevisionError(self._revision)
        if revision and revision < self._compacted:
            raise CompactedError(self._compacted)
        state = self._at(revision) if revision else self.state
        found = sorted(key for key in state if key.startswith(prefix) and key >= start)
        items = [state[key] for key in (found[:limit] if limit else found)]
        return RangeResult(items=items, revision=self._revision, count=len(found))

    def stream(self, prefix: str, *, start: str, revision: int) -> None:
        """Implement Backend.stream: only pages."""
        return

    async def count(self, prefix: str) -> int:
        """Implement Backend.count."""
        return (await self.list(prefix)).count

    def _stands_at(self, key: str) -> int:
        pair = self.state.get(key)
        return pair.revision if pair else 0

    async def write(self, key: str, value: bytes | None, expected: int, guard: Guard | None) -> WriteResult:
        """Create, update or, with no value, delete a key."""
        await self._enter("write")
        previous = self.state.get(key)
        if self._stands_at(key) != expected:
            return WriteResult(succeeded=False, revision=self._revision, current=previous)
        if guard is not None and self._stands_at(guard.key) != guard.expected:
            return WriteResult(succeeded=False, revision=self._revision, current=None, guard_failed=True)
        self._revision += 1
        if value is None:
            self.state.pop(key)
        else:
            self.state[key] = KeyValue(key, value, self._revision)
        self._log.append(BackendEvent(key=key, revision=self._revision, value=value, previous=previous))
        revision = self._revision
        await self._tell()
        return WriteResult(succeeded=True, revision=revision, current=None)

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create."""
        return await self.write(key, value, 0, guard)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update."""
        return await self.write(key, value, expected, guard)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        return await self.write(key, None, expected, guard)

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        await self._enter("watch")
        sent = start - 1 if start else self._revision
        if start and start < self._compacted:
            raise CompactedError(self._compacted)
        if not start:
            yield WatchBatch(events=[], revision=sent)
        progress = self._progress
        epoch = self._epoch
        while not self.is_closed:
            if self.broken:
                raise UnavailableError("the backend is broken")
            if self._epoch != epoch:
                raise HistoryLostError("the data was replaced", is_known=True)
            first = bisect_left(self._log, sent + 1, key=lambda event: event.revision)
            events = [event for event in self._log[first:] if event.key.startswith(prefix)]
            # Changes outside the prefix only become progress at a caller's request.
            if not self.deaf and (events or self._progress > progress):
                sent, progress = max(sent, self._revision), self._progress
                yield WatchBatch(events=events, revision=sent)
                continue
            async with self._news:
                self._waiting += 1
                try:
                    await self._news.wait()
                finally:
                    self._waiting -= 1

    async def request_progress(self) -> None:
        """Implement Backend.request_progress."""
        await self._enter("request_progress")
        self._progress += 1
        await self._tell()

    async def revision(self) -> int:
        """Implement Backend.revision."""
        await self._enter("revision")
        return self._revision

    def known_revision(self) -> None:
        """Implement Backend.known_revision: unknown without a request."""
        return

    async def compact(self, revision: int) -> None:
        """Implement Backend.compact. Keep the log entries from which `list` rebuilds older states."""
        await self._enter("compact")
        if revision > self._revision:
            raise FutureRevisionError(self._revision)
        if revision <= self._compacted:
            raise CompactedError(self._compacted)
        self._compacted = revision

    async def compact_aged(self) -> None:
        """Implement Backend.compact_aged."""
        aged, self._aged = self._aged, await self.revision()
        if aged:
            await self.compact(aged)

    async def healthy(self) -> None:
        """Implement Backend.healthy."""
        await self._enter("healthy")

    async def change(self, **switches: bool) -> None:
        """Set `broken` or `deaf`. Return once waiting watches have noticed a break."""
        for name, value in switches.items():
            setattr(self, name, value)
        await self._tell()
        await until(lambda: not (self.broken and self._waiting))

    async def writable(self) -> None:
        """Implement Backend.writable: memory takes every write."""

    def check_history(self) -> None:
        """Implement Backend.check_history: only `start_over` tells."""

    async def start_over(self) -> int:
        """Implement Backend.start_over."""
        await self._enter("start_over")
        self._epoch += 1
        await self._tell()
        return self._revision

    async def go_back(self, revision: int) -> None:
        """Restore the data of a revision. As in etcd, open watches break, and others from future revisions wait."""
        self.state = self._at(revision)
        self._log = [event for event in self._log if event.revision <= revision]
        self._revision = revision
        await self.change(broken=True)
        await self.change(broken=False)

    async def close(self) -> None:
        """Implement Backend.close."""
        self.is_closed = True
        await self._tell()
