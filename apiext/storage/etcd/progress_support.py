"""Determines which servers answer progress requests reliably.

Mirrors apiserver pkg/storage/feature/feature_support_checker.go. Older servers may answer a progress request before they have sent
all events up to the answer's revision (etcd-io/etcd issues 15220 and 17507).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable
from typing import Final
from weakref import WeakKeyDictionary

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.http2.grpc_status import RpcError

_STATUS: Final = "/etcdserverpb.Maintenance/Status"
_REQUEST: Final = rpc.StatusRequest().SerializeToString()
_ATTEMPT_SECONDS: Final = 5.0
_FIRST_ANSWER_SECONDS: Final = 0.5
"""Seconds that a caller waits for the first answers."""
_MIN_PAUSE_SECONDS: Final = 0.01
MAX_PAUSE_SECONDS: Final = 15.0
"""Longest pause before a server that has not returned its version is asked again."""
_VERSION: Final = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-)?")
_Version = tuple[int, int, int, bool]
"""Major, minor, patch, and whether it is a release: a prerelease sorts before it."""
_FIXED_IN_3_4: Final[_Version] = (3, 4, 31, True)
_FIRST_3_5: Final[_Version] = (3, 5, 0, False)
_FIXED_IN_3_5: Final[_Version] = (3, 5, 13, True)

_LOG: Final = get_logger(__name__)


def answers_reliably(version: str) -> bool:
    """Report whether a server of this version answers progress requests after all events. Return False for an invalid version."""
    match = _VERSION.match(version)
    if match is None:
        return False
    parsed = (int(match[1]), int(match[2]), int(match[3]), match[4] is None)
    return _FIXED_IN_3_4 <= parsed < _FIRST_3_5 or parsed >= _FIXED_IN_3_5


class ProgressSupport:
    """Asks the server of each connection for its version, in the background, until it answers."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Connection, bool] = WeakKeyDictionary()
        """Whether the server of a connection answers reliably; False before it has returned its version."""
        self._asking: set[asyncio.Task[None]] = set()
        """First attempts."""
        self._repeating: set[asyncio.Task[None]] = set()
        self._logged: set[tuple[str, str, str]] = set()

    def reliable(self, connections: Iterable[tuple[Channel, Connection]]) -> bool:
        """Report whether the servers of all connections (at least one) are known to answer reliably. Start to ask new servers."""
        answers = [self._is_reliable(channel, connection) for channel, connection in connections]
        return bool(answers) and all(answers)

    async def reliable_soon(self, connections: Iterable[tuple[Channel, Connection]]) -> bool:
        """Report as `reliable` does, after a short wait for first answers."""
        found = tuple(connections)
        if not self.reliable(found) and self._asking:
            await asyncio.wait(self._asking, timeout=_FIRST_ANSWER_SECONDS)
        return self.reliable(found)

    def _is_reliable(self, channel: Channel, connection: Connection) -> bool:
        if connection not in self._known:
            self._known[connection] = False
            _start(self._ask(channel, connection), self._asking)
        return self._known[connection]

    async def _ask(self, channel: Channel, connection: Connection) -> None:
        if not await self._answered(channel, connection):
            _start(self._repeat(channel, connection), self._repeating)

    async def _repeat(self, channel: Channel, connection: Connection) -> None:
        backoff = Backoff(_MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        answered = False
        while not answered and not connection.closed:
            await backoff.pause()
            answered = await self._answered(channel, connection)

    async def _answered(self, channel: Channel, connection: Connection) -> bool:
        """Ask a server once. Report whether it returned its version."""
        try:
            answer = await channel.unary(_STATUS, _REQUEST, _ATTEMPT_SECONDS, connection)
        except RpcError as error:
            if not connection.closed:
                self._log_once(channel, "etcd version unknown, consistent reads ask etcd", error=str(error))
            return False
        version = rpc.StatusResponse.FromString(answer).version
        reliable = self._known[connection] = answers_reliably(version)
        if not reliable:
            self._log_once(channel, "etcd progress notifications unreliable, consistent reads ask etcd", version=version)
        return True

    def _log_once(self, channel: Channel, event: str, **fields: str) -> None:
        """Log an event once for each server and version."""
        line = (channel.authority, event, fields.get("version", ""))
        if line not in self._logged:
            self._logged.add(line)
            _LOG.warning(event, server=channel.authority, **fields)

    async def close(self) -> None:
        """Stop asking."""
        await end_tasks(*self._asking)
        await end_tasks(*self._repeating)


def _start(coroutine: Coroutine[None, None, None], running: set[asyncio.Task[None]]) -> None:
    task = asyncio.get_running_loop().create_task(coroutine)
    running.add(task)
    task.add_done_callback(running.discard)
