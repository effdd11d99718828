"""Parts of a TxnRequest of etcd's API in the Protobuf wire format; a request is their concatenation in any order.

Message objects would take several times as long as the encoding itself, for every write.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.protobuf_wire import BYTES, VARINT, delimited, tag, varint

_COMPARE: Final = tag(1, BYTES)
_SUCCESS: Final = tag(2, BYTES)
_FAILURE: Final = tag(3, BYTES)
_REQUEST_RANGE: Final = tag(1, BYTES)
_REQUEST_PUT: Final = tag(2, BYTES)
_REQUEST_DELETE: Final = tag(3, BYTES)
_KEY: Final = tag(1, BYTES)
_VALUE: Final = tag(2, BYTES)
_MOD_REVISION_OF: Final = tag(2, VARINT) + varint(2) + tag(3, BYTES)
"""The target of a Compare, and the tag of its key; its result EQUAL is the default."""
_REVISION: Final = tag(6, VARINT)


def compare(key: bytes, revision: int) -> bytes:
    """Return the condition that a key was last written at a revision (0: that it is absent)."""
    return _COMPARE + delimited(b"".join((_MOD_REVISION_OF, varint(len(key)), key, _REVISION, varint(revision))))


def put(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return the operation that writes a key if the conditions hold, as a head and the value: a large one is not copied once more."""
    head = b"".join((_KEY, varint(len(key)), key, _VALUE, varint(len(value))))
    request = _REQUEST_PUT + varint(len(head) + len(value)) + head
    return _SUCCESS + varint(len(request) + len(value)) + request, value


def delete(key: bytes) -> bytes:
    """Return the operation that deletes a key if the conditions hold."""
    return _SUCCESS + delimited(_REQUEST_DELETE + delimited(_KEY + delimited(key)))


def read(key: bytes) -> bytes:
    """Return the operation that reads a key if a condition does not hold."""
    return _FAILURE + delimited(_REQUEST_RANGE + delimited(_KEY + delimited(key)))
