"""Conversion between the Backend's types and etcd's messages."""

from __future__ import annotations

from typing import Any

from apiext.storage.backend import BackendError, BackendEvent, Guard, KeyValue, WriteResult
from apiext.storage.etcd.aetcd_messages import rpc
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
    """Return the first key of a prefix's range, `start` if that is later. etcd does not allow an empty key."""
    return encode(max(prefix, start)) or b"\0"


def range_end(prefix: str) -> bytes:
    """Return the end of a prefix's range (exclusive); a single zero byte means no end."""
    end = prefix_end(prefix)
    return b"\0" if end is LAST else encode(end)


def key_value(message: Any) -> KeyValue:
    """Convert etcd's KeyValue."""
    return KeyValue(message.key.decode(), message.value, message.mod_revision)


def conditional(key: bytes, value: bytes | None, expected: int, guard: Guard | None) -> Any:
    """Build a transaction that writes the key (None: deletes it) if it has the expected revision (0: absent), else reads it.

    With a guard, the guard's key must have its revision too.
    """
    if value is None:
        operation = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))
    else:
        operation = rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))
    compare = [_compare_revision(key, expected)]
    if guard is not None:
        compare.append(_compare_revision(encode(guard.key), guard.expected))
    return rpc.TxnRequest(compare=compare, success=(operation,), failure=(rpc.RequestOp(request_range=rpc.RangeRequest(key=key)),))


def _compare_revision(key: bytes, revision: int) -> Any:
    return rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.MOD, key=key, mod_revision=revision)


def write_result(response: Any, expected: int) -> WriteResult:
    """Convert the response to a conditional transaction. If the key has the expected revision, the guard has failed."""
    revision = response.header.revision
    answer = response.responses[0]
    if not response.succeeded:
        kvs = answer.response_range.kvs
        found = key_value(kvs[0]) if kvs else None
        guard_failed = (found.revision if found else 0) == expected
        return WriteResult(False, revision, None if guard_failed else found, guard_failed)  # noqa: FBT003 -- field order of the result
    # A delete of an absent key succeeds in etcd without a new revision.
    done = answer.WhichOneof("response") == "response_put" or answer.response_delete_range.deleted > 0
    return WriteResult(done, revision, None)


def event(message: Any) -> BackendEvent:
    """Convert one event of a watch."""
    kv = message.kv
    return BackendEvent(
        kv.key.decode(),
        kv.mod_revision,
        None if message.type else kv.value,
        key_value(message.prev_kv) if message.HasField("prev_kv") else None,
    )
