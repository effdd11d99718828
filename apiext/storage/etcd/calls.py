"""Calls with a deadline: reads are tried again elsewhere, writes are sent once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.generated import rpc
from apiext.storage.etcd.http2.outcome import RpcError
from apiext.storage.etcd.servers import Server, Servers

_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


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

    def __init__(self, servers: Servers, deadline: float) -> None:
        """`deadline` is in seconds, for each call with all its tries."""
        self._servers = servers
        self._deadline = deadline
        self._loop = asyncio.get_running_loop()

    async def write(self, request: Any) -> Any:
        """A transaction, sent once to a server that is connected.

        Raises:
            UnavailableError: no connection (then it has not been done), or no answer (then it may have been).
        """
        server, timeout = self._servers.current, self._deadline
        if not self._connected(server):
            end = self._loop.time() + timeout
            server = await self._servers.find(timeout)
            timeout = end - self._loop.time()
        try:
            answer = await server.channel.unary(_TXN.path, request.SerializeToString(), timeout)
        except RpcError as error:
            self._raise(server, error)
        return _TXN.answer.FromString(answer)

    async def read(self, method: Method, request: Any, *, deadline: float = 0) -> Any:
        """A call that changes nothing, or the same however often it is made; tried again until the deadline.

        Raises:
            UnavailableError: no answer in time.
            RevisionCompacted, RevisionAhead: etcd says so.
        """
        message = request.SerializeToString()
        end = self._loop.time() + (deadline or self._deadline)
        pause = _PAUSE
        while True:
            left = end - self._loop.time()
            server = self._servers.current
            if not self._connected(server):
                server = await self._servers.find(left)
                left = end - self._loop.time()
            # A server that hangs must leave time for the others.
            share = left / len(self._servers)
            try:
                answer = await server.channel.unary(method.path, message, share)
            except RpcError as error:
                if self._loop.time() + pause >= end or not _passing(error):
                    self._raise(server, error)
                self._servers.failed(server)
            else:
                return method.answer.FromString(answer)
            self._servers.check()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

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
