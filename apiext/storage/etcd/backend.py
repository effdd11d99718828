"""The Backend over etcd."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Final, Self
from weakref import WeakSet

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.limits import MAX_ETCD_MESSAGE_BYTES, MAX_SENT_VALUE_BYTES
from apiext.base.scheduling.time_slice import Pace
from apiext.storage import keys
from apiext.storage.backend import (
    AlarmsError,
    CompactedError,
    FutureRevisionError,
    Guard,
    HistoryLostError,
    KeyValue,
    NotStreamedError,
    ProgressUnreliableError,
    RangeResult,
    UnavailableError,
    WatchBatch,
    WriteResult,
)
from apiext.storage.backends import transaction
from apiext.storage.backends.transaction import value_too_large
from apiext.storage.etcd import messages
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import ALARM, COMPACT, RANGE, Calls
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.errors import MessageTooLargeError, RevisionAhead, RevisionCompacted, translate
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.grpc_status import UNIMPLEMENTED, RpcError
from apiext.storage.etcd.http2.streams import DuplexStream
from apiext.storage.etcd.lineage import Cluster
from apiext.storage.etcd.messages import key_value
from apiext.storage.etcd.progress_support import ProgressSupport
from apiext.storage.etcd.servers import Servers
from apiext.storage.etcd.watch import Watcher
from apiext.storage.replicas import server_keys

_HEALTH_SECONDS: Final = 2.0
"""Seconds of a health check, as in kube-apiserver."""
_FIRST_PAGE_KEYS: Final = 500
_MAX_PAGE_KEYS: Final = 2000
"""Converting a page of this size blocks the event loop for a few milliseconds."""
_PAGE_BYTES: Final = 4 << 20
"""Target size of the pages after the first."""
_COMPACT_KEY: Final = b"compact_rev_key"


_MAX_CONDITIONS: Final = 1024


_PATH: Final = "/etcdserverpb.KV/RangeStream"
_PIECE_KEYS: Final = 500
"""Keys that are converted at once; etcd sends up to 1.5 MiB in one message, and twice that of growing values."""


class RangeStreams:
    """Streams ranges from servers that have the call. Which of them do not is known by connection: an upgrade makes a new one."""

    def __init__(self, servers: Servers, seconds: float) -> None:
        """Prepare without connecting; `seconds` limit the wait for the next message."""
        self._servers = servers
        self._seconds = seconds
        self._lacking: WeakSet[Connection] = WeakSet()

    @property
    def supported(self) -> bool:
        """Report whether the current server may have the call; true until it has refused it."""
        return not any(connection in self._lacking for connection in self._connections(self._servers.current))

    def _connections(self, channel: Channel) -> list[Connection]:
        return [connection for found, connection in self._servers.connections() if found is channel]

    async def read(self, key: bytes, end: bytes, revision: int) -> AsyncGenerator[Sequence[KeyValue]]:
        """Yield the keys of a range at a revision. A slow caller slows the server down: the stream's window is 4 MiB.

        Raises:
            NotStreamedError: the server does not have the call.
            UnavailableError: the stream broke. Keys that were not yielded must be read otherwise.
            CompactedError: the revision was compacted.
        """
        channel = await self._servers.connected(self._seconds)
        request = rpc.RangeRequest(key=key, range_end=end, revision=revision).SerializeToString()
        try:
            stream = await channel.download(_PATH, request, self._seconds)
            try:
                async with contextlib.aclosing(self._pieces(stream)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                stream.cancel()
        except RpcError as error:
            raise self._failure(channel, error, revision) from error
        except TimeoutError as error:
            self._servers.mark_failed(channel)
            raise UnavailableError("etcd sends nothing of a range") from error

    async def _pieces(self, stream: DuplexStream) -> AsyncGenerator[Sequence[KeyValue]]:
        pace = Pace()
        while True:
            try:
                async with asyncio.timeout(self._seconds):
                    messages = await stream.take()
            except RpcError:
                if not stream.succeeded:
                    raise
                return
            messages.reverse()
            while messages:
                kvs = _range(messages.pop()).kvs
                for first in range(0, len(kvs), _PIECE_KEYS):
                    yield [key_value(kv) for kv in kvs[first : first + _PIECE_KEYS]]
                    await pace.checkpoint()

    def _failure(self, channel: Channel, error: RpcError, revision: int) -> Exception:
        if error.code == UNIMPLEMENTED:
            self._lacking.update(self._connections(channel))
            return NotStreamedError("the etcd server does not stream ranges")
        translated = translate(error)
        if isinstance(translated, RevisionCompacted):
            return CompactedError(revision + 1)
        if isinstance(translated, RevisionAhead):
            return UnavailableError("the etcd server has not reached the revision of the first page")
        if isinstance(translated, UnavailableError):
            self._servers.mark_failed(channel)
        return translated


def _range(message: bytes) -> Any:
    """Return the RangeResponse in a RangeStreamResponse, which aetcd lacks: a ResponseOp has it in the same field."""
    return rpc.ResponseOp.FromString(message).response_range


class Companions:
    """Names companions, and chooses what guarded writes compare."""

    def __init__(self, prefix: str) -> None:
        """Name companions for the definitions below `--etcd-prefix`."""
        self._definitions = keys.resource_prefix(prefix, CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource)
        self._companions = server_keys.root(prefix) + server_keys.COMPANIONS
        self._former = server_keys.former_root(prefix) + server_keys.COMPANIONS
        self._conditions: dict[Guard, tuple[bytes, bool]] = {}
        """Encoded conditions, and whether they are on companions. All writes of a resource share one until its definition changes."""

    def of(self, key: str) -> tuple[bytes, bytes] | None:
        """Return the companion of a key, and that of earlier releases; None for any key but a definition's."""
        if not key.startswith(self._definitions):
            return None
        name = key[len(self._definitions) :]
        return messages.encode(self._companions + name), messages.encode(self._former + name)

    def condition(self, guard: Guard | None) -> tuple[bytes, bool]:
        """Return the encoded condition of a guarded write, empty without one, and whether the guard's own key must decide if it fails."""
        if guard is None:
            return b"", False
        found = self._conditions.get(guard)
        if found is None:
            # the absence of a companion does not tell that of its definition
            companions = self.of(guard.key) if guard.is_large and guard.expected > 0 else None
            if companions is None:
                return self._keep(guard, transaction.compare(messages.encode(guard.key), guard.expected), by_companion=False)
            own, former = companions
            return self._keep(guard, transaction.compare(own, guard.expected) + transaction.compare(former, 0), by_companion=True)
        return found

    def reject(self, guard: Guard) -> bytes:
        """Return the encoded condition on the guard's own key, since its companion was not written with it."""
        return self._keep(guard, transaction.compare(messages.encode(guard.key), guard.expected), by_companion=False)[0]

    def _keep(self, guard: Guard, condition: bytes, *, by_companion: bool) -> tuple[bytes, bool]:
        if len(self._conditions) >= _MAX_CONDITIONS:
            self._conditions.clear()
        self._conditions[guard] = found = condition, by_companion
        return found


class EtcdBackend:
    """A Backend in an etcd cluster, which other programs may share. For one event loop."""

    def __init__(self, config: EtcdConfig) -> None:
        """Prepare a backend that connects at its first call. `connect` waits for a connection.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        self._config = config
        self._support = ProgressSupport()
        self.servers = Servers(config)
        self._calls = Calls(self.servers, config.deadline, config.attempt_timeout)
        self._streams = RangeStreams(self.servers, min(config.attempt_timeout, config.deadline))
        self._compaction = _CompactionClock()
        self._cluster = Cluster()
        self._watchers: set[Watcher] = set()
        self._companions = Companions(config.prefix)
        self._probe_key = messages.encode(config.prefix.rstrip("/") + "/health")

    @classmethod
    async def connect(cls, config: EtcdConfig) -> Self:
        """Create a backend and wait for the first answer of a server.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
            UnavailableError: no server answers in time. The message has the servers and the reason.
        """
        backend = cls(config)
        try:
            await backend._latest(backend._probe_key, deadline=config.connect_timeout)
        except UnavailableError as error:
            reason = backend.servers.current.last_error
            await backend.close()
            raise UnavailableError(f"etcd cannot be reached at {backend.servers}: {reason or error}") from error
        except BaseException:
            await backend.close()
            raise
        return backend

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """See `Backend.get`."""
        response = await self._calls.read(RANGE, rpc.RangeRequest(key=messages.encode(key)))
        kvs = response.kvs
        return (messages.key_value(kvs[0]) if kvs else None), response.header.revision

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """See `Backend.list`. Reads page by page, all pages at the revision of the first.

        Raises:
            CompactedError: the revision was compacted. `compact_revision` is a lower bound: etcd does not report it.
            FutureRevisionError: the revision has not been reached.
        """
        key, end = messages.range_start(prefix, start), messages.range_end(prefix)
        items: list[KeyValue] = []
        count, at, page = 0, revision, _FIRST_PAGE_KEYS
        while True:
            size = min(page, limit - len(items)) if limit else page
            try:
                response = await self._calls.read(RANGE, rpc.RangeRequest(key=key, range_end=end, limit=size, revision=at))
            except RevisionCompacted as error:
                raise CompactedError(at + 1) from error
            except RevisionAhead as error:
                raise FutureRevisionError(await self._latest(key)) from error
            if not items:
                count, at = response.count, revision or response.header.revision
            found = [messages.key_value(kv) for kv in response.kvs]
            items += found
            if not response.more or (limit and len(items) >= limit):
                return RangeResult(items, at, count)
            key = messages.encode(found[-1].key) + b"\0"
            page = max(1, min(_MAX_PAGE_KEYS, size * _PAGE_BYTES // max(1, sum(len(pair.value) for pair in found))))

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]] | None:
        """See `Backend.stream`."""
        if not self._config.range_stream or not self._streams.supported:
            return None
        return self._streams.read(messages.range_start(prefix, start), messages.range_end(prefix), revision)

    async def count(self, prefix: str) -> int:
        """See `Backend.count`."""
        key, end = messages.range_start(prefix), messages.range_end(prefix)
        response = await self._calls.read(RANGE, rpc.RangeRequest(key=key, range_end=end, count_only=True))
        return int(response.count)

    def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> Coroutine[Any, Any, WriteResult]:
        """See `Backend.create`."""
        return self._write(key, value, 0, guard)

    def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> Coroutine[Any, Any, WriteResult]:
        """See `Backend.update`."""
        return self._write(key, value, expected, guard)

    def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> Coroutine[Any, Any, WriteResult]:
        """See `Backend.delete`."""
        return self._write(key, None, expected, guard)

    async def _write(self, key: str, value: bytes | None, expected: int, guard: Guard | None) -> WriteResult:
        condition, by_companion = self._companions.condition(guard)
        result = await self._write_if(key, value, expected, condition)
        if result.guard_failed and by_companion and guard is not None:
            return await self._write_if(key, value, expected, self._companions.reject(guard))
        return result

    async def _write_if(self, key: str, value: bytes | None, expected: int, condition: bytes) -> WriteResult:
        if value is not None and len(value) > MAX_SENT_VALUE_BYTES:
            raise value_too_large(key, value, expected, MAX_ETCD_MESSAGE_BYTES)
        request = messages.conditional(messages.encode(key), value, expected, condition, self._companions.of(key))
        try:
            return messages.write_result(await self._calls.write(request), expected)
        except MessageTooLargeError as error:
            raise value_too_large(key, value or b"", expected, error.limit) from error

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """See `Backend.watch`. The stream's window blocks etcd while the reader is slow; etcd then reads from its log."""
        self.servers.raise_if_closed()
        seconds = min(self._config.attempt_timeout, self._config.deadline)
        watcher = Watcher(
            *(self.servers, self._cluster, prefix, start, seconds), previous=previous, may_request_progress=self._progress_reliable
        )
        self._watchers.add(watcher)
        try:
            async with aclosing(watcher.batches()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self._watchers.discard(watcher)

    async def request_progress(self) -> None:
        """See `Backend.request_progress`."""
        self.servers.raise_if_closed()
        if not await self._support.reliable_soon(self.servers.connections()):
            raise ProgressUnreliableError("the version of an etcd server is unknown, or it answers progress requests too early")
        for watcher in tuple(self._watchers):
            watcher.request_progress()

    def _progress_reliable(self) -> bool:
        return self._support.reliable(self.servers.connections())

    def revision(self) -> Coroutine[Any, Any, int]:
        """See `Backend.revision`."""
        return self._latest(self._probe_key)

    async def _latest(self, key: bytes, *, deadline: float = 0) -> int:
        """Return the store's revision by a linearizable read of any key that the user may read."""
        response = await self._calls.read(RANGE, rpc.RangeRequest(key=key, count_only=True), deadline=deadline)
        return int(response.header.revision)

    def known_revision(self) -> None:
        """See `Backend.known_revision`: always unknown, since other programs write too."""
        return

    async def compact(self, revision: int) -> None:
        """See `Backend.compact`."""
        try:
            await self._calls.read(COMPACT, rpc.CompactionRequest(revision=revision))
        except RevisionCompacted:
            return
        except RevisionAhead as error:
            raise FutureRevisionError(await self.revision()) from error

    async def compact_aged(self) -> None:
        """See `Backend.compact_aged`. In each interval, one of all servers on the etcd compacts, kube-apiservers included."""
        revision = await self._compaction.advance(self._calls)
        if revision:
            await self.compact(revision)

    async def healthy(self) -> None:
        """See `Backend.healthy`."""
        await self._latest(self._probe_key, deadline=min(_HEALTH_SECONDS, self._config.deadline))

    async def writable(self) -> None:
        """Implement Backend.writable: unless etcd has an alarm. The question is an entry in the log of etcd, so ask seldom."""
        request = rpc.AlarmRequest(action=rpc.AlarmRequest.GET)
        response = await self._calls.read(ALARM, request, deadline=min(_HEALTH_SECONDS, self._config.deadline))
        if kinds := sorted({rpc.AlarmType.Name(one.alarm) for one in response.alarms}):
            raise AlarmsError(kinds)

    def check_history(self) -> None:
        """See `Backend.check_history`: watches check it when they resume, since etcd has to start for other data."""

    async def start_over(self) -> int:
        """See `Backend.start_over`."""
        revision = await self.revision()
        self._compaction, self._cluster = _CompactionClock(), Cluster()
        for watcher in tuple(self._watchers):
            watcher.lose(HistoryLostError("the store's data was replaced", is_known=True))
        return revision

    async def close(self) -> None:
        """See `Backend.close`."""
        await self._support.close()
        await self.servers.close()


class _CompactionClock:
    """Elects the server that compacts (k8s.io/apiserver/pkg/storage/etcd3/compact.go).

    The version of a key, shared with kube-apiserver, is a clock. In each interval one server advances it.
    """

    def __init__(self) -> None:
        self._time = 0
        self._revision = 0

    async def advance(self, calls: Calls) -> int:
        """Try to advance the clock. Return the revision to compact, 0 if another server advanced it or none is known yet."""
        aged = self._revision
        request = rpc.TxnRequest(
            compare=(rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.VERSION, key=_COMPACT_KEY, version=self._time),),
            success=(rpc.RequestOp(request_put=rpc.PutRequest(key=_COMPACT_KEY, value=b"%d" % aged)),),
            failure=(rpc.RequestOp(request_range=rpc.RangeRequest(key=_COMPACT_KEY)),),
        )
        response = await calls.write(request.SerializeToString())
        self._revision = response.header.revision
        if response.succeeded:
            self._time += 1
            return aged
        self._time = response.responses[0].response_range.kvs[0].version
        return 0
