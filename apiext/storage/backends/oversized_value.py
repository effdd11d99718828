"""The error of a value that is too large, in the reference's words.

Its etcd client refuses to send a request above a limit, and names the exact size of the request. etcd refuses smaller ones.
"""

from __future__ import annotations

from apiext.storage.backend import ValueTooLargeError
from apiext.storage.backends import transaction


def value_too_large(key: str, value: bytes, existing: int, limit: int) -> ValueTooLargeError:
    """Return the error for a value of a key that has the revision `existing` (0: absent). `limit` is that of a request, in bytes."""
    size = _request_size(key.encode(), value, existing)
    if size <= limit:
        return ValueTooLargeError("etcdserver: request is too large")
    return ValueTooLargeError(f"rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {limit})")


def _request_size(key: bytes, value: bytes, existing: int) -> int:
    """Return the bytes of the reference's TxnRequest: put the value if the key has the revision; an update reads it otherwise."""
    read = transaction.read(key) if existing else b""
    return sum(map(len, (transaction.compare(key, existing), transaction.put_head(key, len(value)), value, read)))
