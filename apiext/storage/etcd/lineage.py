"""Whether etcd still has the history that a watch has read, asked before the watch resumes on another stream.

Data that went back (a restored snapshot, an old disk) always ends the streams of its watches, since etcd has to start. No single answer
proves that the data is the same, but each of these proves that it is not: another cluster's identifier, a revision or a term below a
known one in a linearizable answer, or another state of the last watched key at its revision. A member that lags answers none of them:
its answer waits for the leader's revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.storage.backend import HistoryLostError
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.calls import RANGE
from apiext.storage.etcd.errors import RevisionAhead, RevisionCompacted, translate
from apiext.storage.etcd.http2.grpc_status import RpcError
from apiext.storage.etcd.messages import encode

if TYPE_CHECKING:
    from apiext.storage.backend import BackendEvent
    from apiext.storage.etcd.http2.channel import Channel


@dataclass(slots=True)
class Cluster:
    """What is known of the etcd cluster of a backend."""

    id: int = 0
    """0 while unknown."""
    term: int = 0
    """The highest term in a linearizable answer."""

    def compare(self, header: Any) -> None:
        """Compare the cluster of an answer.

        Raises:
            HistoryLostError: it is another one.
        """
        if not self.id:
            self.id = header.cluster_id
        elif header.cluster_id != self.id:
            raise HistoryLostError(f"the etcd cluster {self.id:x} was replaced by the cluster {header.cluster_id:x}")


@dataclass(slots=True)
class Lineage:
    """What a watch knows of the store's history."""

    cluster: Cluster
    probe: bytes
    """A key that the user may read."""
    reached: int = 0
    """The revision up to which the watch has read; 0 before its first batch."""
    last: BackendEvent | None = None

    async def check(self, channel: Channel, seconds: float) -> None:
        """Ask etcd whether its data continues what the watch has read.

        Raises:
            HistoryLostError: it does not.
            RpcError: etcd does not answer. Another server may.
        """
        if not self.reached:
            return
        last, answer = self.last, None
        if last is not None:
            try:
                answer = await _range(channel, rpc.RangeRequest(key=encode(last.key), revision=last.revision), seconds)
            except RevisionAhead as error:
                raise HistoryLostError(f"the store has no revision {last.revision} any more") from error
            except RevisionCompacted:
                self.last = None
            else:
                _compare(answer.kvs, last)
        if answer is None:
            answer = await _range(channel, rpc.RangeRequest(key=self.probe, count_only=True), seconds)
        header = answer.header
        self.cluster.compare(header)
        if header.revision < self.reached:
            raise HistoryLostError(f"the store's revision went back from {self.reached} to {header.revision}")
        if header.raft_term < self.cluster.term:
            raise HistoryLostError(f"the term of the etcd cluster went back from {self.cluster.term} to {header.raft_term}")
        self.cluster.term = header.raft_term


def _compare(found: Any, last: BackendEvent) -> None:
    """Compare the state of the last key at its revision with what the watch has read."""
    state = (found[0].mod_revision, found[0].value) if found else (last.revision, None)
    if state != (last.revision, last.value):
        raise HistoryLostError(f"the store has another change at revision {last.revision}")


async def _range(channel: Channel, request: Any, seconds: float) -> Any:
    """Ask for a range. Raises RpcError, RevisionAhead or RevisionCompacted."""
    try:
        answer = await channel.unary(RANGE.path, request.SerializeToString(), seconds)
    except RpcError as error:
        translated = translate(error)
        if isinstance(translated, (RevisionAhead, RevisionCompacted)):
            raise translated from error
        raise
    return RANGE.response.FromString(answer)
