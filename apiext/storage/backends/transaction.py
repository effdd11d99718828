"""Parts of a TxnRequest of etcd's API in the Protobuf wire format; a request is their concatenation in any order.

For every write, message objects would take several times as long as the encoding itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from apiext.base.meta.encoding.protobuf_wire import BYTES, VARINT, delimited, tag, varint
from apiext.storage.backend import ValueTooLargeError

_COMPARE: Final = tag(1, BYTES)
_SUCCESS: Final = tag(2, BYTES)
_FAILURE: Final = tag(3, BYTES)
_REQUEST_RANGE: Final = tag(1, BYTES)
_REQUEST_PUT: Final = tag(2, BYTES)
_REQUEST_DELETE: Final = tag(3, BYTES)
_KEY: Final = tag(1, BYTES)
_VALUE: Final = tag(2, BYTES)
_MOD_REVISION_OF: Final = tag(2, VARINT) + varint(2) + tag(3, BYTES)
"""The target of a Compare, and the tag of its key. The result EQUAL is the default."""
_REVISION: Final = tag(6, VARINT)
_CACHED_SIZES: Final = 1024
"""Lengths of keys whose message heads are cached."""


def compare(key: bytes, revision: int) -> bytes:
    """Return the condition that a key has a revision (0: that it is absent)."""
    end = varint(revision)
    return b"%b%b%b%b" % (_compare_head(len(key), len(end)), key, _REVISION, end)


@lru_cache(_CACHED_SIZES)
def _compare_head(key_size: int, revision_size: int) -> bytes:
    """Return a condition's bytes before the key, for given sizes of the key and of the encoded revision."""
    head = _MOD_REVISION_OF + varint(key_size)
    return _COMPARE + varint(len(head) + key_size + len(_REVISION) + revision_size) + head


def put_head(key: bytes, size: int) -> bytes:
    """Return the operation that writes a key if the conditions hold. The value, of `size` bytes, follows."""
    head = b"%b%b%b%b" % (_key_head(len(key)), key, _VALUE, varint(size))
    size += len(head)
    inner = varint(size)
    return b"%b%b%b%b%b" % (_SUCCESS, varint(size + len(inner) + len(_REQUEST_PUT)), _REQUEST_PUT, inner, head)


@lru_cache(_CACHED_SIZES)
def _key_head(key_size: int) -> bytes:
    """Return the bytes before the key in the key's field."""
    return _KEY + varint(key_size)


def delete(key: bytes) -> bytes:
    """Return the operation that deletes a key if the conditions hold."""
    return _SUCCESS + delimited(_REQUEST_DELETE + delimited(_KEY + delimited(key)))


def read(key: bytes) -> bytes:
    """Return the operation that reads a key if a condition does not hold."""
    return _read_head(len(key)) + key


@lru_cache(_CACHED_SIZES)
def _read_head(key_size: int) -> bytes:
    """Return the bytes before the key in the operation that reads the key."""
    head = _KEY + varint(key_size)
    head = _REQUEST_RANGE + varint(len(head) + key_size) + head
    return _FAILURE + varint(len(head) + key_size) + head


def value_too_large(key: str, value: bytes, existing: int, limit: int) -> ValueTooLargeError:
    """Return the reference's error about a key's value. `existing` is the key's revision (0: absent), `limit` that of a request in bytes.

    The reference's etcd client refuses requests above a limit, with the exact size in the error. etcd itself has a lower limit.
    """
    name = key.encode()
    # if the key has the revision, put the value; an update reads it otherwise
    size = sum(map(len, (compare(name, existing), put_head(name, len(value)), value, read(name) if existing else b"")))
    if size <= limit:
        return ValueTooLargeError("etcdserver: request is too large")
    return ValueTooLargeError(f"rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. {limit})")
