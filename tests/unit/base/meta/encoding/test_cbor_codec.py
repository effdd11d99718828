"""CBOR of objects. The bytes are those of kube-apiserver 1.37.1."""

from typing import Any

import pytest

from apiext.base.meta.encoding import cbor_codec
from apiext.base.meta.encoding.cbor_codec import TooDeepError
from apiext.base.meta.limits import MAX_DEPTH


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"kind": "A", "a": 1, "bb": -500}, "a3 4161 01 426262 3901f3 446b696e64 4141"),
        ([None, True, False], "83 f6 f5 f4"),
        ([1.0, 1.5, 0.1, 1e300], "84 f93c00 f93e00 fb3fb999999999999a fb7e37e43c8800759c"),
        ([2**63 - 1, 2**63], "82 1b7fffffffffffffff fa5f000000"),
        ("é", "42c3a9"),
    ],
)
def test_encodes_deterministically(value: Any, expected: str) -> None:
    """Encode strings as byte strings, keys in order, and numbers in their shortest form."""
    assert cbor_codec.dumps(value) == bytes.fromhex("d9d9f7" + expected)


def test_encodes_the_object_of_an_event_as_a_document() -> None:
    """Begin the object in an event with the prefix too."""
    assert (
        cbor_codec.dumps_event({"type": "ADDED", "object": {"a": 1}}).hex() == "d9d9f7a24474797065454144444544466f626a656374d9d9f7a1416101"
    )


@pytest.mark.parametrize(
    "data, value",
    [
        ("d9d9f7a1416102", {"a": 2}),
        ("bf61619f01ffff", {"a": [1]}),
        ("7f61616162ff", "ab"),
        ("8101", [1]),
        ("81d9d9f701", [1]),
        ("43ff4142", "\ufffdAB"),
    ],
)
def test_decodes(data: str, value: Any) -> None:
    """Decode byte strings and indefinite lengths as the reference does."""
    assert cbor_codec.loads(bytes.fromhex(data)) == value


@pytest.mark.parametrize(
    "data",
    [
        *("", "a161", "ff", "d9d9f70102", "f97e00", "f9fc00", "c24101", "f7", "e0", "61ff", "a10102", "a2616101416102", "a2616101616102"),
        *("3bffffffffffffffff", "c0616a", "c240", "a1810101", "a1a0f6"),
        *("c11a514b67b0", "c074323031332d30332d32315432303a30343a30305a", "d64401020304", "d90fff01", "d81c80", "a1f602"),
    ],
)
def test_rejects(data: str) -> None:
    """Reject what is no CBOR, keys that are no text or occur twice, tags, and items without a JSON value."""
    with pytest.raises(ValueError, match="cbor: "):
        cbor_codec.loads(bytes.fromhex(data))


def test_limits_nesting() -> None:
    """Accept as many levels as in JSON."""
    assert cbor_codec.loads(b"\x81" * MAX_DEPTH + b"\x01")
    with pytest.raises(TooDeepError):
        cbor_codec.loads(b"\x81" * (MAX_DEPTH + 1) + b"\x01")


@pytest.mark.parametrize("sizes", [(1,), (23, 1), (24,), (300, 2), (70_000,)])
def test_joins_lists(sizes: tuple[int, ...]) -> None:
    """Join batches to one list as if it were encoded at once."""
    frame = {"kind": "AList", "items": [], "metadata": {"continue": ""}}
    batches = [list(range(size)) for size in sizes]

    joined = b"".join(cbor_codec.joined_lists(cbor_codec.dumps(frame), [cbor_codec.dumps(batch) for batch in batches]))

    assert joined == cbor_codec.dumps(frame | {"items": [item for batch in batches for item in batch]})
