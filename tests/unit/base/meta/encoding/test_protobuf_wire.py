"""The Protobuf wire format."""

import pytest

from apiext.base.meta.encoding import protobuf_wire
from apiext.base.meta.encoding.protobuf_wire import BYTES, FIXED64, VARINT, read_fields


@pytest.mark.parametrize("value, data", [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")])
def test_encodes_varints(value: int, data: bytes) -> None:
    """Encode seven bits a byte, the lowest first, negative integers as 64 bits; reading gives the same integer."""
    [(number, read)] = read_fields(protobuf_wire.tag(1, VARINT) + data)

    assert protobuf_wire.varint(value) == data
    assert number == 1
    assert isinstance(read, int)
    assert protobuf_wire.signed(read) == value


def test_reads_fields_in_order() -> None:
    """Yield each field's number and content, of every wire type, in the order of the data."""
    data = protobuf_wire.field(1, b"abc") + protobuf_wire.tag(2, FIXED64) + protobuf_wire.double(1.5) + b"\x1d\0\0\0\0"

    assert list(read_fields(data)) == [(1, b"abc"), (2, protobuf_wire.double(1.5)), (3, bytes(4))]
    assert protobuf_wire.read_double(protobuf_wire.double(1.5)) == 1.5
    assert protobuf_wire.delimited(b"abc") == b"\x03abc"
    assert protobuf_wire.tag(1, BYTES) == b"\x0a"


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x05abc", b"\x08\x80", b"\x09\0\0", b"\x0b", b"\xff" * 11])
def test_rejects_bad_data(data: bytes) -> None:
    """Raise ValueError for data that ends within a field, an unknown wire type and a varint that is too long."""
    with pytest.raises(ValueError, match=r"unexpected EOF|unknown wire type"):
        list(read_fields(data))


def test_rejects_a_double_of_another_size() -> None:
    """Raise ValueError for a double that has not 8 bytes."""
    with pytest.raises(ValueError, match="wrong size"):
        protobuf_wire.read_double(b"\0" * 4)
