"""Parts of a TxnRequest of etcd's API in the Protobuf wire format; a request is their concatenation in any order.

Message objects would take several times as long as the encoding itself, for every write.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.protobuf_wire import BYTES, VARINT, field, tag, varint

_MOD_REVISION: Final = tag(2, VARINT) + varint(2)
"""The target of a Compare; its result EQUAL is the default."""
_REVISION: Final = tag(6, VARINT)
_SUCCESS: Final = tag(2, BYTES)
_REQUEST_PUT: Final = tag(2, BYTES)
_VALUE: Final = tag(2, BYTES)


def compare(key: bytes, revision: int) -> bytes:
    """Return the condition that a key was last written at a revision (0: that it is absent)."""
    return field(1, b"".join((_MOD_REVISION, field(3, key), _REVISION, varint(revision))))


def put(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return the operation that writes a key if the conditions hold, as a head and the value: a large one is not copied once more."""
    head = field(1, key) + _VALUE + varint(len(value))
    request = _REQUEST_PUT + varint(len(head) + len(value)) + head
    return _SUCCESS + varint(len(request) + len(value)) + request, value


def delete(key: bytes) -> bytes:
    """Return the operation that deletes a key if the conditions hold."""
    return field(2, field(3, field(1, key)))


def read(key: bytes) -> bytes:
    """Return the operation that reads a key if a condition does not hold."""
    return field(3, field(1, field(1, key)))
