"""Calls with a deadline: reads are tried again elsewhere, writes are sent once."""

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

_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


_NOT_PROPOSED: Final = "context deadline exceeded"
"""What a server says that has waited in vain for a leader to propose a write to."""


@dataclass(frozen=True, slots=True)
class Method:
    """A procedure of etcd's API, and the type of its answer."""

    path: str
    answer: Any


RANGE: Final = Method("/etcdserverpb.KV/Range", rpc.RangeResponse)
COMPACT: Final = Method("/etcdserverpb.KV/Compact", rpc.CompactionResponse)
_TXN: Final = Method("/etcdserverpb.KV/Txn", rpc.TxnResponse)


class Calls:
    """The two ways to call."""

    def __init__(self, servers: Servers, deadline: float, patience: float) -> None:
        """In seconds: `deadline` for each call with all its tries, `patience` for one try of a read where there are other servers."""
        self._servers = servers
        self._deadline = deadline
        self._patience = patience
        self._loop = asyncio.get_running_loop()

    async def write(self, request: Any) -> Any:
        """A transaction, sent once to a server that is connected, and again where that could not even propose it.

        Raises:
            UnavailableError: no connection (then it has not been done), or no answer (then it may have been).
        """
        end = self._loop.time() + self._deadline
        message = request.SerializeToString()
        while True:
            server, left = self._servers.current, end - self._loop.time()
            if not self._connected(server):
                server = await self._servers.find(left)
                left = end - self._loop.time()
            try:
                answer = await server.channel.unary(_TXN.path, message, left)
            except RpcError as error:
                if error.code != DEADLINE_EXCEEDED or error.details != _NOT_PROPOSED:
                    self._raise(server, error)
                self._servers.failed(server)
            else:
                return _TXN.answer.FromString(answer)

    async def read(self, method: Method, request: Any, *, deadline: float = 0) -> Any:
        """A call that changes nothing, or the same however often it is made; tried again until the deadline.

        Raises:
            UnavailableError: no answer in time.
            RevisionCompacted, RevisionAhead: etcd says so.
        """
        message = request.SerializeToString()
        end = self._loop.time() + (deadline or self._deadline)
        backoff = Backoff(_PAUSE, _LONGEST_PAUSE)
        while True:
            left = end - self._loop.time()
            server = self._servers.current
            if not self._connected(server):
                server = await self._servers.find(left)
                left = end - self._loop.time()
            # A server that hangs must leave time for the others.
            share = min(left / len(self._servers), self._patience) if len(self._servers) > 1 else left
            try:
                answer = await server.channel.unary(method.path, message, share)
            except RpcError as error:
                if self._loop.time() + backoff.next >= end or not _passing(error):
                    self._raise(server, error)
                self._servers.failed(server)
            else:
                return method.answer.FromString(answer)
            self._servers.check()
            await backoff.pause()

    def _connected(self, server: Server) -> bool:
        self._servers.check()
        return server.ready()

    def _raise(self, server: Server, error: RpcError) -> NoReturn:
        translated = translate(error)
        if isinstance(translated, UnavailableError):
            self._servers.failed(server)
        raise translated from error


def _passing(error: RpcError) -> bool:
    return isinstance(translate(error), UnavailableError)
