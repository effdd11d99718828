"""etcd's errors and gRPC's as the backend's own.

Mirrors go.etcd.io/etcd/api/v3/v3rpc/rpctypes: the texts below are how etcd tells its errors apart.
"""

from __future__ import annotations

from typing import Final

from apiext.storage.backend import BackendError, UnavailableError
from apiext.storage.etcd.http2 import grpc_status
from apiext.storage.etcd.http2.grpc_status import RpcError

_COMPACTED: Final = "etcdserver: mvcc: required revision has been compacted"
_FUTURE: Final = "etcdserver: mvcc: required revision is a future revision"
_UNAVAILABLE: Final = frozenset({
    grpc_status.UNAVAILABLE,
    grpc_status.DEADLINE_EXCEEDED,
    grpc_status.CANCELLED,
    grpc_status.UNKNOWN,
    grpc_status.INTERNAL,
    grpc_status.RESOURCE_EXHAUSTED,
    grpc_status.ABORTED,
})  # fmt: skip
_TOO_LARGE: Final = "received message larger than max"


class RevisionCompacted(Exception):  # noqa: N818 -- an outcome on its way to CompactedError, which needs more than etcd says here
    """The range's revision is gone."""


class RevisionAhead(Exception):  # noqa: N818 -- likewise, to FutureRevisionError
    """The range's revision has not been reached."""


def translate(error: RpcError) -> Exception:
    """What to raise instead: a BackendError, RevisionCompacted or RevisionAhead."""
    details = error.details
    if error.code == grpc_status.OUT_OF_RANGE:
        if details == _COMPACTED:
            return RevisionCompacted()
        if details == _FUTURE:
            return RevisionAhead()
    if error.code == grpc_status.DEADLINE_EXCEEDED:
        return UnavailableError("etcd did not answer in time")
    message = details if details.startswith("etcdserver:") else f"rpc error: code = {grpc_status.name_of(error.code)} desc = {details}"
    passing = error.code in _UNAVAILABLE and _TOO_LARGE not in details
    return UnavailableError(message) if passing else BackendError(message)
