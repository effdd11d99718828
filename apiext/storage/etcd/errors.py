"""Translates errors of etcd and gRPC to those of the Backend.

Mirrors go.etcd.io/etcd/api/v3/v3rpc/rpctypes: only the texts of etcd's errors differ.
"""

from __future__ import annotations

import re
from typing import Final

from apiext.storage.backend import BackendError, UnavailableError, ValueTooLargeError
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
_TOO_LARGE: Final = "etcdserver: request is too large"
_MESSAGE_TOO_LARGE: Final = re.compile(r"grpc: received message larger than max \(\d+ vs\. (\d+)\)")


class RevisionCompacted(Exception):  # noqa: N818 -- callers turn it into CompactedError, which needs more than etcd says here
    """The requested revision was compacted."""


class RevisionAhead(Exception):  # noqa: N818 -- callers turn it into FutureRevisionError, likewise
    """The store has not reached the requested revision."""


class MessageTooLargeError(ValueTooLargeError):
    """etcd refuses requests above `limit` bytes. In the reference its client does, with another message."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


def translate(error: RpcError) -> Exception:
    """Return the exception to raise: a BackendError, RevisionCompacted or RevisionAhead."""
    details = error.details
    if error.code == grpc_status.OUT_OF_RANGE:
        if details == _COMPACTED:
            return RevisionCompacted()
        if details == _FUTURE:
            return RevisionAhead()
    if details == _TOO_LARGE:
        return ValueTooLargeError(details)
    message = details if details.startswith("etcdserver:") else f"rpc error: code = {grpc_status.name_of(error.code)} desc = {details}"
    refused = _MESSAGE_TOO_LARGE.search(details)
    if refused:
        return MessageTooLargeError(message, int(refused[1]))
    return UnavailableError(message) if error.code in _UNAVAILABLE else BackendError(message)
