"""A watch that outlives its connections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final, NoReturn

from apiext.meta.backoff import Backoff
from apiext.storage.backend import BackendError, BackendEvent, CompactedError, UnavailableError, WatchBatch
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.http2.streams import Duplex
from apiext.storage.etcd.messages import event, range_end, range_start
from apiext.storage.etcd.servers import Server, Servers

_PATH: Final = "/etcdserverpb.Watch/Watch"
_METADATA: Final = {"hasleader": "true"}
"""Have a server that has lost its leader end the stream, so that another one is found."""
_PROGRESS: Final = rpc.WatchRequest(progress_request=rpc.WatchProgressRequest()).SerializeToString()
_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0


class Watcher:
    """One watch: a stream at a time, and the revision up to which everything has been given out."""

    def __init__(self, servers: Servers, prefix: str, start: int, deadline: float, *, previous: bool) -> None:
        self._servers = servers
        self._key = range_start(prefix)
        self._end = range_end(prefix)
        self._start = start
        self._deadline = deadline
        self._previous = previous
        self._stream: Duplex | None = None
        self._parts: list[Any] = []
        """The events of a response whose last fragment is still to come."""
        self._asked = False
        """Progress has been asked for and not been told yet."""

    async def batches(self) -> AsyncGenerator[WatchBatch]:
        """As `Backend.watch`."""
        backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
        while not self._servers.closed():
            # Whatever broke the stream, another one may do.
            with contextlib.suppress(UnavailableError):
                server = await self._connect()
                async with contextlib.aclosing(self._follow(server)) as batches:
                    async for batch in batches:
                        backoff.reset()
                        yield batch
            if self._servers.closed():
                return
            await backoff.pause()

    def request_progress(self) -> None:
        """Ask for a batch that names the revision reached; also of the next stream, if this one breaks."""
        self._asked = True
        if self._stream is not None:
            self._stream.send(_PROGRESS)

    async def _connect(self) -> Server:
        server = self._servers.current
        return server if server.ready() else await self._servers.find(self._deadline)

    async def _follow(self, server: Server) -> AsyncGenerator[WatchBatch]:
        """What one stream brings, until it breaks.

        Raises:
            UnavailableError: it broke; another one may do.
            CompactedError, BackendError: no stream will do.
        """
        stream: Duplex | None = None
        try:
            self._parts = []
            stream = server.channel.duplex(_PATH, _METADATA)
            stream.send(self._request())
            async with asyncio.timeout(self._deadline):
                created, *early = [rpc.WatchResponse.FromString(message) for message in await stream.take()]
            first = self._created(created)
            if first is not None:
                yield first
            self._stream = stream
            if self._asked:
                stream.send(_PROGRESS)
            responses = early
            while True:
                for batch in self._batches(responses):
                    yield batch
                if responses and self._asked:  # etcd keeps silent about progress while it is catching up
                    stream.send(_PROGRESS)
                responses = [rpc.WatchResponse.FromString(message) for message in await stream.take()]
        except RpcError as error:
            self._servers.failed(server)
            raise translate(error) from error
        except TimeoutError as error:
            self._servers.failed(server)
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
        """The answer to the request; where it began "now", the batch that says when that is."""
        if response.canceled:
            self._raise_cancelled(response)
        if self._start:
            return None
        self._start = response.header.revision + 1
        return WatchBatch((), response.header.revision)

    def _batches(self, responses: list[Any]) -> Iterator[WatchBatch]:
        """What some responses tell, in one batch where nothing stands against it."""
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
                events += [event(part) for part in self._parts]
                reached = events[-1].revision
                self._parts = []
            else:
                reached, self._asked = max(reached, response.header.revision), False
        if reached:
            yield self._batch(events, reached)

    def _batch(self, events: list[BackendEvent], reached: int) -> WatchBatch:
        self._start = max(self._start, reached + 1)
        return WatchBatch(events, reached)

    def _raise_cancelled(self, response: Any) -> NoReturn:
        if response.compact_revision:
            raise CompactedError(response.compact_revision)
        reason = response.cancel_reason or "without a reason"
        if "no leader" in reason:
            raise UnavailableError(f"etcd ended the watch: {reason}")
        raise BackendError(f"etcd ended the watch: {reason}")
