"""etcd's maintenance API: snapshots, and the state of members (etcd api/etcdserverpb/rpc.proto, services Maintenance and Cluster)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import ALARM, Calls, Method
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.etcd.errors import translate
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.servers import Servers

_SNAPSHOT: Final = "/etcdserverpb.Maintenance/Snapshot"
_STATUS: Final = Method("/etcdserverpb.Maintenance/Status", rpc.StatusResponse)
_MEMBERS: Final = Method("/etcdserverpb.Cluster/MemberList", rpc.MemberListResponse)
_SILENCE_SECONDS: Final = 60.0
"""Seconds without a message after which a snapshot fails. etcd prepares one before its first message."""
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """The state of one member, as the member reports it."""

    member: int
    version: str
    size: int
    """Bytes of the database file."""
    size_in_use: int
    """Bytes of it that are in use: a defragmentation frees the others."""
    leader: int
    """Identifier of the leader; 0 without one."""
    is_learner: bool
    raft_index: int
    applied_index: int
    errors: Sequence[str]


@dataclass(frozen=True, slots=True)
class EtcdMember:
    """A member of the cluster."""

    id: int
    name: str
    client_urls: Sequence[str]
    is_learner: bool


class EtcdMaintenance:
    """Calls of the maintenance API. For one event loop.

    Raises:
        BackendError: from every method, when no server answers in time, or etcd refuses the call.
    """

    def __init__(self, config: EtcdConfig) -> None:
        """Prepare the calls without connecting.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        self._servers = Servers(config)
        self._seconds = config.connect_timeout
        self._calls = Calls(self._servers, config.connect_timeout, config.attempt_timeout)

    async def save_snapshot(self, write: Callable[[bytes], object]) -> None:
        """Pass the snapshot of a connected member to `write`, in parts: the database file, then its SHA-256.

        Raises:
            UnavailableError: the member became silent, or the snapshot differs from its digest.
        """
        channel = await self._servers.connected(self._seconds)
        digest, tail = hashlib.sha256(), b""
        try:
            stream = await channel.download(_SNAPSHOT, rpc.SnapshotRequest().SerializeToString(), self._seconds)
            try:
                while True:
                    async with asyncio.timeout(_SILENCE_SECONDS):
                        messages = await stream.take()
                    data = tail + b"".join(rpc.SnapshotResponse.FromString(message).blob for message in messages)
                    data, tail = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
                    digest.update(data)
                    write(data)
            except RpcError:
                if not stream.succeeded:
                    raise
            finally:
                stream.cancel()
        except RpcError as error:
            self._servers.mark_failed(channel)
            raise translate(error) from error
        except TimeoutError as error:
            self._servers.mark_failed(channel)
            raise UnavailableError(f"etcd sent nothing of its snapshot for {_SILENCE_SECONDS:.0f} s") from error
        if tail != digest.digest():
            raise UnavailableError("etcd's snapshot is incomplete: it differs from its digest")
        write(tail)

    async def status(self) -> MemberStatus:
        """Return the state of the connected member."""
        found = await self._ask(_STATUS, rpc.StatusRequest())
        return MemberStatus(
            found.header.member_id,
            found.version,
            found.dbSize,
            found.dbSizeInUse,
            found.leader,
            found.isLearner,
            found.raftIndex,
            found.raftAppliedIndex,
            tuple(found.errors),
        )

    async def alarms(self) -> list[tuple[int, str]]:
        """Return the active alarms: the member and the kind, such as NOSPACE."""
        found = await self._ask(ALARM, rpc.AlarmRequest(action=rpc.AlarmRequest.GET))
        return [(alarm.memberID, rpc.AlarmType.Name(alarm.alarm)) for alarm in found.alarms]

    async def members(self) -> list[EtcdMember]:
        """Return the members of the cluster."""
        found = await self._ask(_MEMBERS, rpc.MemberListRequest())
        return [EtcdMember(one.ID, one.name, tuple(one.clientURLs), one.isLearner) for one in found.members]

    async def _ask(self, method: Method, request: Any) -> Any:
        return await self._calls.read(method, request)

    async def close(self) -> None:
        """Close the connections."""
        await self._servers.close()


async def save_current_snapshot(config: EtcdConfig, write: Callable[[bytes], object]) -> int:
    """Save a snapshot (see `EtcdMaintenance.save_snapshot`). Return a revision that it must have reached to have every acknowledged write.

    Raises:
        BackendError: no server answers, or etcd refuses.
    """
    # loaded here: the backend is not needed for the state of members
    from apiext.storage.etcd.backend import EtcdBackend

    backend = await EtcdBackend.connect(config)
    try:
        revision = await backend.revision()
    finally:
        await backend.close()
    maintenance = EtcdMaintenance(config)
    try:
        await maintenance.save_snapshot(write)
    finally:
        await maintenance.close()
    return revision
