"""Encoded transactions."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from apiext.storage.backend import Guard
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.etcd.backend import Companions
from apiext.storage.etcd.messages import conditional

READ = rpc.RequestOp(request_range=rpc.RangeRequest(key=b"a"))
PUT = rpc.RequestOp(request_put=rpc.PutRequest(key=b"a", value=b"v" * 200))
DELETE = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=b"a"))


def at(key: bytes, revision: int) -> object:
    """Return the condition that a key was last written at a revision."""
    return rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.MOD, key=key, mod_revision=revision)


@pytest.mark.parametrize("revision", [0, 1, 127, 128, 2**40, 2**63 - 1])
@pytest.mark.parametrize("value, operation", [(b"v" * 200, PUT), (None, DELETE)], ids=["put", "delete"])
@pytest.mark.parametrize("guard", [None, Guard("guard", 0), Guard("g" * 300, 2**40)], ids=["plain", "absent", "guarded"])
def test_encodes_transactions(revision: int, value: bytes | None, operation: object, guard: Guard | None) -> None:
    """Encode what etcd's own message type reads as the same transaction."""
    guards = [] if guard is None else [at(guard.key.encode(), guard.expected)]
    expected = rpc.TxnRequest(compare=[*guards, at(b"a", revision)], success=[operation], failure=[READ])
    condition, _ = Companions("/registry").condition(guard)

    read = rpc.TxnRequest.FromString(conditional(b"a", value, revision, condition))

    assert read == expected
    assert all(compare.WhichOneof("target_union") == "mod_revision" for compare in read.compare)


@given(st.integers(1, 70_000), st.integers(0, 70_000), st.integers(0, 2**63 - 1))
@example(125, 126, 127)
@example(126, 127, 128)
@example(16_380, 16_383, 16_384)
def test_encodes_keys_and_values_of_all_sizes(key_size: int, value_size: int, revision: int) -> None:
    """Encode the lengths of keys, values and the messages around them."""
    key, value = b"k" * key_size, b"v" * value_size
    expected = rpc.TxnRequest(
        compare=[at(key, revision)],
        success=[rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))],
        failure=[rpc.RequestOp(request_range=rpc.RangeRequest(key=key))],
    )

    assert rpc.TxnRequest.FromString(conditional(key, value, revision)) == expected


@pytest.mark.parametrize("value", [b"v" * 200, None], ids=["put", "delete"])
def test_writes_companions_with_their_keys(value: bytes | None) -> None:
    """Put an empty companion after the key, or delete it after the key; delete that of earlier releases."""
    read = rpc.TxnRequest.FromString(conditional(b"a", value, 3, companions=(b"c", b"f")))

    companion = rpc.RequestOp(request_put=rpc.PutRequest(key=b"c"))
    if value is None:
        companion = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=b"c"))
    former = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=b"f"))
    assert list(read.success) == [PUT if value else DELETE, companion, former]
