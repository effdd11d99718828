"""The reference's error about a value that is too large.

The reference's etcd client refuses requests above a limit, with the exact size in the error. etcd itself has a lower limit.
"""

from __future__ import annotations

from apiext.storage.backend import ValueTooLargeError
from apiext.storage.backends import transaction


def value_too_large(key: str, value: bytes, existing: int, limit: int) -> ValueTooLargeError:
    """Return the error about a key's value. `existing` is the key's revision (0: absent), `limit` that of a request in bytes."""
    size = _request_size(key.encode(), value, existing)
    if size <= limit:
        return ValueTooLargeError("etcdserver: request is too large")
    return ValueTooLargeError(f"rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {limit})")


def _request_size(key: bytes, value: bytes, existing: int) -> int:
    """Return the size of the reference's TxnRequest: if the key has the revision, put the value; an update reads it otherwise."""
    read = transaction.read(key) if existing else b""
    return sum(map(len, (transaction.compare(key, existing), transaction.put_head(key, len(value)), value, read)))
