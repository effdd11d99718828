"""The Backend over etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final, Self

from apiext.storage.backend import FutureRevisionError, Guard, KeyValue, RangeResult, UnavailableError, WatchBatch, WriteResult
from apiext.storage.etcd import messages
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import COMPACT, RANGE, Calls
from apiext.storage.etcd.compaction import Turns
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.errors import RevisionAhead, RevisionCompacted
from apiext.storage.etcd.ranges import latest, list_range
from apiext.storage.etcd.servers import Servers
from apiext.storage.etcd.watch import Watcher

_HEALTH_DEADLINE: Final = 2.0
"""As kube-apiserver's etcd health check."""


class EtcdBackend:
    """A Backend in an etcd cluster that others may use, too; used from one event loop."""

    def __init__(self, config: EtcdConfig) -> None:
        """Connects when it is needed; `connect` makes sure that it can.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        self._config = config
        self._servers = Servers(config)
        self._calls = Calls(self._servers, config.deadline, config.patience)
        self._turns = Turns()
        self._watchers: set[Watcher] = set()
        self._probe = messages.encode(config.prefix.rstrip("/") + "/health")

    @classmethod
    async def connect(cls, config: EtcdConfig) -> Self:
        """A backend that has had an answer.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
            UnavailableError: no server answers in time; the message tells the servers and the reason.
        """
        backend = cls(config)
        try:
            await latest(backend._calls, backend._probe, deadline=config.connect_timeout)
        except UnavailableError as error:
            reason = backend._servers.reason()
            await backend.close()
            raise UnavailableError(f"etcd cannot be reached at {backend._servers}: {reason or error}") from error
        except BaseException:
            await backend.close()
            raise
        return backend

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """As `Backend.get`."""
        response = await self._calls.read(RANGE, rpc.RangeRequest(key=messages.encode(key)))
        kvs = response.kvs
        return (messages.key_value(kvs[0]) if kvs else None), response.header.revision

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """As `Backend.list`. The `compact_revision` of a CompactedError is the least that it may be."""
        return await list_range(self._calls, prefix, start=start, revision=revision, limit=limit)

    async def count(self, prefix: str) -> int:
        """As `Backend.count`."""
        key, end = messages.range_start(prefix), messages.range_end(prefix)
        response = await self._calls.read(RANGE, rpc.RangeRequest(key=key, range_end=end, count_only=True))
        count: int = response.count
        return count

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """As `Backend.create`."""
        encoded = messages.encode(key)
        return await self._write(encoded, 0, messages.put(encoded, value), guard)

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.update`."""
        encoded = messages.encode(key)
        return await self._write(encoded, expected, messages.put(encoded, value), guard)

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """As `Backend.delete`."""
        encoded = messages.encode(key)
        return await self._write(encoded, expected, messages.remove(encoded), guard)

    async def _write(self, key: bytes, expected: int, operation: Any, guard: Guard | None) -> WriteResult:
        return messages.write_result(await self._calls.write(messages.conditional(key, expected, operation, guard)), guard)

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """As `Backend.watch`. A watch that is too slow is held back by its connection's window and fed from etcd's log."""
        self._servers.check()
        watcher = Watcher(self._servers, prefix, start, min(self._config.patience, self._config.deadline), previous=previous)
        self._watchers.add(watcher)
        try:
            async with aclosing(watcher.batches()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self._watchers.discard(watcher)

    async def request_progress(self) -> None:
        """As `Backend.request_progress`."""
        self._servers.check()
        for watcher in tuple(self._watchers):
            watcher.request_progress()

    async def revision(self) -> int:
        """As `Backend.revision`."""
        return await latest(self._calls, self._probe)

    def known_revision(self) -> None:
        """As `Backend.known_revision`: others may have written."""
        return

    async def compact(self, revision: int) -> None:
        """As `Backend.compact`."""
        try:
            await self._calls.read(COMPACT, rpc.CompactionRequest(revision=revision))
        except RevisionCompacted:
            return
        except RevisionAhead as error:
            raise FutureRevisionError(await self.revision()) from error

    async def compact_aged(self) -> None:
        """Compact up to the revision that was the latest when this was called before: call it once in an interval.

        Of all servers that share the etcd, kube-apiservers included, one does it in each interval.
        """
        aged = await self._turns.take(self._calls)
        if aged:
            await self.compact(aged)

    async def healthy(self) -> None:
        """As `Backend.healthy`."""
        await latest(self._calls, self._probe, deadline=min(_HEALTH_DEADLINE, self._config.deadline))

    async def close(self) -> None:
        """As `Backend.close`."""
        await self._servers.close()
