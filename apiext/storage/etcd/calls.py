"""Calls with a deadline and retries."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.servers import Servers

_MIN_PAUSE_SECONDS: Final = 0.05
_MAX_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Method:
    """A method of etcd's API and the type of its response."""

    path: str
    response: Any


RANGE: Final = Method("/etcdserverpb.KV/Range", rpc.RangeResponse)
COMPACT: Final = Method("/etcdserverpb.KV/Compact", rpc.CompactionResponse)
ALARM: Final = Method("/etcdserverpb.Maintenance/Alarm", rpc.AlarmResponse)
_TXN: Final = Method("/etcdserverpb.KV/Txn", rpc.TxnResponse)


class Calls:
    """Reads and writes on a connected server."""

    def __init__(self, servers: Servers, deadline: float, attempt_timeout: float) -> None:
        """Set the limits in seconds: `deadline` of a call with all retries, `attempt_timeout` of one attempt if there are other servers."""
        self._servers = servers
        self._deadline = deadline
        self._attempt_timeout = attempt_timeout
        self._loop = asyncio.get_running_loop()
        self._writes = 0
        """Writes under way."""

    def write(self, request: bytes) -> Coroutine[Any, Any, Any]:
        """Send an encoded transaction to a connected server. Repeat it only if no server has received it completely.

        No answer of etcd proves that a write was not proposed: etcd may accept a proposal that waits for a leader after the server's
        timeout ("context deadline exceeded"). A repeated create could then restore an object deleted meanwhile, and the first attempt
        could make a condition of the second one fail.

        Raises:
            UnavailableError: no connection (the write was not done), or no answer (its outcome is unknown).
        """
        return self._call(_TXN, request, self._deadline, idempotent=False)

    def read(self, method: Method, request: Any, *, deadline: float = 0) -> Coroutine[Any, Any, Any]:
        """Call an idempotent method, with retries until the deadline (seconds; 0: that of all calls).

        Raises:
            UnavailableError: no answer in time.
            RevisionCompacted: the requested revision was compacted.
            RevisionAhead: the store has not reached the requested revision.
        """
        return self._call(method, request.SerializeToString(), deadline or self._deadline, idempotent=True)

    async def _call(self, method: Method, message: bytes, seconds: float, *, idempotent: bool) -> Any:
        end, pause = self._loop.time() + seconds, _MIN_PAUSE_SECONDS
        self._writes += not idempotent
        try:
            while True:
                channel = self._servers.ready() or await self._servers.connected(end - self._loop.time())
                timeout = end - self._loop.time()
                if idempotent and len(self._servers) > 1:  # a hanging server must leave time for the others
                    timeout = min(timeout / len(self._servers), self._attempt_timeout)
                try:
                    # etcd syncs its log once for writes that arrive together; reads and a lone write do not wait for others
                    answer = await channel.unary(method.path, message, timeout, gather=not idempotent and self._writes > 1)
                except RpcError as error:
                    translated = translate(error)
                    unavailable = isinstance(translated, UnavailableError)
                    if unavailable:
                        self._servers.mark_failed(channel)
                    again = unavailable if idempotent else error.unprocessed
                    if not again or self._loop.time() + pause >= end:
                        raise translated from error
                else:
                    return method.response.FromString(answer)
                await asyncio.sleep(pause)
                pause = min(pause * 2, _MAX_PAUSE_SECONDS)
        finally:
            self._writes -= not idempotent
