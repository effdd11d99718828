"""Reads of a range in one call that streams (etcd 3.7), in place of one call for each page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final
from weakref import WeakSet

from apiext.base.scheduling.time_slice import Pace
from apiext.storage.backend import CompactedError, KeyValue, NotStreamedError, UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.errors import RevisionAhead, RevisionCompacted, translate
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.grpc_status import UNIMPLEMENTED, RpcError
from apiext.storage.etcd.http2.streams import DuplexStream
from apiext.storage.etcd.messages import key_value
from apiext.storage.etcd.servers import Servers

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
