"""Calls with a deadline and retries."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from apiext.meta.backoff import Backoff
from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.http2.grpc_status import DEADLINE_EXCEEDED, RpcError
from apiext.storage.etcd.servers import Server, Servers

_MIN_PAUSE_SECONDS: Final = 0.05
_MAX_PAUSE_SECONDS: Final = 1.0

_NOT_PROPOSED: Final = "context deadline exceeded"
"""The details of a server's DEADLINE_EXCEEDED when it had no leader to propose the write to."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method of etcd's API and the type of its response."""

    path: str
    response: Any


RANGE: Final = Method("/etcdserverpb.KV/Range", rpc.RangeResponse)
COMPACT: Final = Method("/etcdserverpb.KV/Compact", rpc.CompactionResponse)
_TXN: Final = Method("/etcdserverpb.KV/Txn", rpc.TxnResponse)


class Calls:
    """Reads and writes on whichever server is connected."""

    def __init__(self, servers: Servers, deadline: float, attempt_timeout: float) -> None:
        """Set the limits in seconds: `deadline` of a call with all retries, `attempt_timeout` of one attempt if there are other servers."""
        self._servers = servers
        self._deadline = deadline
        self._attempt_timeout = attempt_timeout
        self._loop = asyncio.get_running_loop()

    async def write(self, request: Any) -> Any:
        """Send a transaction to a connected server. Send it again only if it certainly was not processed.

        Raises:
            UnavailableError: no connection (the write was not done), or no answer (its outcome is unknown).
        """
        end = self._loop.time() + self._deadline
        message = request.SerializeToString()
        backoff = Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        while True:
            server = await self._connected(end)
            try:
                answer = await server.channel.unary(_TXN.path, message, end - self._loop.time())
            except RpcError as error:
                if not _unprocessed(error) or self._loop.time() + backoff.next >= end:
                    self._raise(server, error)
                self._servers.mark_failed(server)
            else:
                return _TXN.response.FromString(answer)
            await backoff.pause()

    async def read(self, method: Method, request: Any, *, deadline: float = 0) -> Any:
        """Call an idempotent method, with retries until the deadline (seconds; 0: that of all calls).

        Raises:
            UnavailableError: no answer in time.
            RevisionCompacted: the revision asked for was compacted.
            RevisionAhead: the revision asked for has not been reached.
        """
        message = request.SerializeToString()
        end = self._loop.time() + (deadline or self._deadline)
        backoff = Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        while True:
            server = await self._connected(end)
            timeout = end - self._loop.time()
            if len(self._servers) > 1:  # a server that hangs must leave time for the others
                timeout = min(timeout / len(self._servers), self._attempt_timeout)
            try:
                answer = await server.channel.unary(method.path, message, timeout)
            except RpcError as error:
                if self._loop.time() + backoff.next >= end or not isinstance(translate(error), UnavailableError):
                    self._raise(server, error)
                self._servers.mark_failed(server)
            else:
                return method.response.FromString(answer)
            await backoff.pause()

    async def _connected(self, end: float) -> Server:
        """Return the current server if it is connected, else wait for one until `end` (loop time)."""
        self._servers.raise_if_closed()
        server = self._servers.current
        return server if server.channel.check_connected() else await self._servers.wait_connected(end - self._loop.time())

    def _raise(self, server: Server, error: RpcError) -> NoReturn:
        translated = translate(error)
        if isinstance(translated, UnavailableError):
            self._servers.mark_failed(server)
        raise translated from error


def _unprocessed(error: RpcError) -> bool:
    return error.unprocessed or (error.code == DEADLINE_EXCEEDED and error.details == _NOT_PROPOSED)
