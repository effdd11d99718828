"""etcd's messages made from the backend's words, and the other way round."""

from __future__ import annotations

from typing import Any

from apiext.storage.backend import BackendError, BackendEvent, Guard, KeyValue, WriteResult
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.keyrange import LAST, prefix_end


def encode(key: str) -> bytes:
    """A key as etcd has it.

    Raises:
        BackendError: it is not valid Unicode.
    """
    try:
        return key.encode()
    except UnicodeEncodeError as error:
        raise BackendError(f"the key cannot be stored: {error}") from error


def range_start(prefix: str, start: str = "") -> bytes:
    """Where a prefix's range begins, not before `start`; etcd wants no empty key."""
    return encode(max(prefix, start)) or b"\0"


def range_end(prefix: str) -> bytes:
    """The end of a prefix's range; a single zero byte means all that follows."""
    end = prefix_end(prefix)
    return b"\0" if end is LAST else encode(end)


def key_value(message: Any) -> KeyValue:
    """A key's value."""
    return KeyValue(message.key.decode(), message.value, message.mod_revision)


def conditional(key: bytes, expected: int, operation: Any, guard: Guard | None) -> Any:
    """A transaction that does the operation if the key's revision is the expected one (0: absent), else reads the key.

    The guard must hold too; its key's revision is read as well when something does not hold.
    """
    compare, failure = [_stands_at(key, expected)], [rpc.RequestOp(request_range=rpc.RangeRequest(key=key))]
    if guard is not None:
        other = encode(guard.key)
        compare.append(_stands_at(other, guard.expected))
        failure.append(rpc.RequestOp(request_range=rpc.RangeRequest(key=other, keys_only=True)))
    return rpc.TxnRequest(compare=compare, success=(operation,), failure=failure)


def _stands_at(key: bytes, revision: int) -> Any:
    return rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.MOD, key=key, mod_revision=revision)


def put(key: bytes, value: bytes) -> Any:
    """The operation that writes a key."""
    return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))


def remove(key: bytes) -> Any:
    """The operation that removes a key."""
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))


def write_result(response: Any, guard: Guard | None) -> WriteResult:
    """The outcome of a conditional put or removal."""
    revision = response.header.revision
    answer = response.responses[0]
    if not response.succeeded:
        if guard is not None and _revision(response.responses[1].response_range.kvs) != guard.expected:
            return WriteResult(False, revision, None, guard_failed=True)  # noqa: FBT003 -- the result's own order
        kvs = answer.response_range.kvs
        return WriteResult(False, revision, key_value(kvs[0]) if kvs else None)  # noqa: FBT003 -- the result's own order
    # Expected to be absent and absent: nothing has been removed, and no revision spent.
    done = answer.WhichOneof("response") == "response_put" or answer.response_delete_range.deleted > 0
    return WriteResult(done, revision, None)


def _revision(kvs: Any) -> int:
    """The revision of what was found, 0 for nothing."""
    revision: int = kvs[0].mod_revision if kvs else 0
    return revision


def event(message: Any) -> BackendEvent:
    """One change of a watch."""
    kv = message.kv
    return BackendEvent(
        kv.key.decode(),
        kv.mod_revision,
        None if message.type else kv.value,
        key_value(message.prev_kv) if message.HasField("prev_kv") else None,
    )
