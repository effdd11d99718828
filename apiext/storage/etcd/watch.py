"""A watch that resumes on another stream after its connection ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Final, NoReturn

from apiext.base.scheduling.backoff import Backoff
from apiext.storage.backend import BackendError, BackendEvent, CompactedError, HistoryLostError, UnavailableError, WatchBatch
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.http2.streams import DuplexStream
from apiext.storage.etcd.lineage import Cluster, Lineage
from apiext.storage.etcd.messages import event, range_end, range_start
from apiext.storage.etcd.servers import Servers

_PATH: Final = "/etcdserverpb.Watch/Watch"
_METADATA: Final = {"hasleader": "true"}
"""Makes a server without a leader end the stream: the watch then resumes on another server."""
_PROGRESS: Final = rpc.WatchRequest(progress_request=rpc.WatchProgressRequest()).SerializeToString()
_MIN_PAUSE_SECONDS: Final = 0.05
_MAX_PAUSE_SECONDS: Final = 2.0


class Watcher:
    """One watch: its current stream, and the start revision of the next stream."""

    def __init__(
        self,
        servers: Servers,
        cluster: Cluster,
        prefix: str,
        start: int,
        seconds: float,
        *,
        previous: bool,
        may_request_progress: Callable[[], bool],
    ) -> None:
        self._servers = servers
        self._key = range_start(prefix)
        self._end = range_end(prefix)
        self._start = start
        self._seconds = seconds
        """Seconds to connect, and to get etcd's confirmation of the watch."""
        self._previous = previous
        self._stream: DuplexStream | None = None
        self._parts: list[Any] = []
        """Events of a response's fragments so far."""
        self._may_request_progress = may_request_progress
        self._progress_requested = False
        """Whether a progress request has not been answered."""
        self._lineage = Lineage(cluster, range_start(prefix))
        self._lost: HistoryLostError | None = None

    def lose(self, error: HistoryLostError) -> None:
        """End the watch with an error."""
        self._lost = error
        if self._stream is not None:
            self._stream.cancel()

    async def batches(self) -> AsyncGenerator[WatchBatch]:
        """See `Backend.watch`."""
        backoff = Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        while self._lost is None:
            with contextlib.suppress(UnavailableError):
                channel = await self._servers.connected(self._seconds)
                async with contextlib.aclosing(self._follow(channel)) as batches:
                    async for batch in batches:
                        backoff.reset()
                        yield batch
            if self._servers.closed:
                return
            await backoff.pause()
        raise self._lost

    def request_progress(self) -> None:
        """Request a batch with the reached revision. Repeat the request on the next stream if this one ends."""
        self._progress_requested = True
        self._send_progress_request()

    def _send_progress_request(self) -> None:
        """Send an unanswered request, unless the stream's server may answer too early."""
        if self._progress_requested and self._stream is not None and self._may_request_progress():
            self._stream.send(_PROGRESS)

    async def _follow(self, channel: Channel) -> AsyncGenerator[WatchBatch]:
        """Yield the batches of one stream.

        Raises:
            UnavailableError: the stream ended; another one may succeed.
            CompactedError: the start revision was compacted.
            HistoryLostError: etcd does not continue the history that was read.
            BackendError: etcd refused the watch.
        """
        stream: DuplexStream | None = None
        try:
            self._parts = []
            await self._lineage.check(channel, self._seconds)
            stream = await channel.duplex(_PATH, _METADATA, self._seconds)
            stream.send(self._request())
            async with asyncio.timeout(self._seconds):
                created, *responses = [rpc.WatchResponse.FromString(message) for message in await stream.take()]
            first = self._created(created)
            if first is not None:
                yield first
            self._stream = stream
            # the first request on a connection must determine the server's version
            self._may_request_progress()
            self._send_progress_request()
            while True:
                for batch in self._batches(responses):
                    yield batch
                if responses:  # etcd drops progress requests while the watch catches up
                    self._send_progress_request()
                responses = [rpc.WatchResponse.FromString(message) for message in await stream.take()]
        except RpcError as error:
            self._servers.mark_failed(channel)
            raise translate(error) from error
        except TimeoutError as error:
            self._servers.mark_failed(channel)
            raise UnavailableError("etcd does not answer the watch") from error
        finally:
            self._stream = None
            if stream is not None:
                stream.cancel()

    def _request(self) -> bytes:
        message: bytes = rpc.WatchRequest(
            create_request=rpc.WatchCreateRequest(
                key=self._key,
                range_end=self._end,
                start_revision=self._start,
                progress_notify=True,
                prev_kv=self._previous,
                fragment=True,
            )
        ).SerializeToString()
        return message

    def _created(self, response: Any) -> WatchBatch | None:
        """Check etcd's confirmation. Return the first batch of a watch that starts now: it has the revision."""
        if response.canceled:
            self._raise_cancelled(response)
        self._lineage.cluster.compare(response.header)
        if self._start:
            return None
        self._lineage.reached = response.header.revision
        self._start = response.header.revision + 1
        return WatchBatch((), response.header.revision)

    def _batches(self, responses: list[Any]) -> Iterator[WatchBatch]:
        """Convert responses into as few batches as possible."""
        events: list[BackendEvent] = []
        reached = 0
        for response in responses:
            if response.canceled:
                if reached:
                    yield self._batch(events, reached)
                self._raise_cancelled(response)
            self._parts.extend(response.events)
            if response.fragment:
                continue
            if self._parts:
                events += [event(part, previous=self._previous) for part in self._parts]
                self._lineage.last = events[-1]
                reached = events[-1].revision
                self._parts = []
            else:
                reached, self._progress_requested = max(reached, response.header.revision), False
        if reached:
            yield self._batch(events, reached)

    def _batch(self, events: list[BackendEvent], reached: int) -> WatchBatch:
        self._start = max(self._start, reached + 1)
        self._lineage.reached = max(self._lineage.reached, reached)
        return WatchBatch(events, reached)

    def _raise_cancelled(self, response: Any) -> NoReturn:
        if response.compact_revision:
            raise CompactedError(response.compact_revision)
        reason = response.cancel_reason or "without a reason"
        if "no leader" in reason:
            raise UnavailableError(f"etcd ended the watch: {reason}")
        raise BackendError(f"etcd ended the watch: {reason}")
