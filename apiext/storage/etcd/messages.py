"""Conversion between the Backend's types and etcd's messages."""

from __future__ import annotations

from typing import Any

from apiext.storage.backend import BackendError, BackendEvent, CompactedError, KeyValue, WriteResult
from apiext.storage.backends import transaction
from apiext.storage.keys import LAST, prefix_end


def encode(key: str) -> bytes:
    """Encode a key.

    Raises:
        BackendError: the key is not valid Unicode.
    """
    try:
        return key.encode()
    except UnicodeEncodeError as error:
        raise BackendError(f"the key cannot be stored: {error}") from error


def range_start(prefix: str, start: str = "") -> bytes:
    """Return the first key of a prefix's range, or `start` if that is later. etcd does not allow an empty key."""
    return encode(max(prefix, start)) or b"\0"


def range_end(prefix: str) -> bytes:
    """Return the end of a prefix's range (exclusive). A single zero byte means no end."""
    end = prefix_end(prefix)
    return b"\0" if end is LAST else encode(end)


def key_value(message: Any) -> KeyValue:
    """Convert etcd's KeyValue."""
    return KeyValue(message.key.decode(), message.value, message.mod_revision)


def conditional(
    key: bytes, value: bytes | None, expected: int, condition: bytes = b"", companions: tuple[bytes, bytes] | None = None
) -> bytes:
    """Encode a transaction: write the key (None: delete it) if it has the expected revision (0: absent), else read it.

    A further encoded condition must hold too. The first of two companions is written empty, or deleted, with the key, the second deleted.
    """
    compared, read, others = transaction.compare(key, expected), transaction.read(key), b""
    if companions is not None:
        own, former = companions
        others = (transaction.delete(own) if value is None else transaction.put_head(own, 0)) + transaction.delete(former)
    if value is None:
        return b"".join((condition, compared, transaction.delete(key), others, read))
    return b"".join((condition, compared, transaction.put_head(key, len(value)), value, others, read))


def write_result(response: Any, expected: int) -> WriteResult:
    """Convert the response to a conditional transaction. If the key has the expected revision, the guard has failed."""
    revision = response.header.revision
    answer = response.responses[0]
    if not response.succeeded:
        kvs = answer.response_range.kvs
        found = key_value(kvs[0]) if kvs else None
        guard_failed = (found.revision if found else 0) == expected
        return WriteResult(False, revision, None if guard_failed else found, guard_failed)  # noqa: FBT003 -- field order of the result
    # etcd lets the delete of an absent key succeed, without a new revision.
    done = answer.WhichOneof("response") == "response_put" or answer.response_delete_range.deleted > 0
    return WriteResult(done, revision, None)


def event(message: Any, *, previous: bool) -> BackendEvent:
    """Convert one event of a watch.

    Raises:
        CompactedError: the replaced value is required, and compacted.
    """
    kv, deleted = message.kv, message.type
    revision, before = kv.mod_revision, None
    if previous:
        if message.HasField("prev_kv"):
            before = key_value(message.prev_kv)
        elif deleted or kv.create_revision != revision:
            raise CompactedError(revision)
    return BackendEvent(kv.key.decode(), revision, None if deleted else kv.value, before)
