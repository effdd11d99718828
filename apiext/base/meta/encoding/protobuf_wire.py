"""The Protobuf wire format: varints, tags and length-delimited fields (https://protobuf.dev/programming-guides/encoding/)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

VARINT: Final = 0
"""Wire type of integers and booleans."""
FIXED64: Final = 1
"""Wire type of doubles."""
BYTES: Final = 2
"""Wire type of strings, bytes and messages: a length and as many bytes."""
_FIXED32: Final = 5
_UINT64: Final = 2**64 - 1
_SHORT: Final = tuple(bytes((value,)) for value in range(0x80))
"""Varints of one byte."""
_PACK_TWO: Final = struct.Struct("BB").pack
_MAX_SHIFT: Final = 70
"""A varint with more bits is invalid."""


def varint(value: int) -> bytes:
    """Encode an integer; negative ones as 64 bits in two's complement."""
    if value >= 0:
        if value < 0x80:
            return _SHORT[value]
        if value < 0x4000:
            return _PACK_TWO(value & 0x7F | 0x80, value >> 7)
    value &= _UINT64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def double(value: float) -> bytes:
    """Encode a float64."""
    return struct.pack("<d", value)


def tag(number: int, wire_type: int) -> bytes:
    """Encode the number and the wire type of a field."""
    return varint(number << 3 | wire_type)


def delimited(data: bytes) -> bytes:
    """Encode bytes after their length."""
    return varint(len(data)) + data


def field(number: int, data: bytes) -> bytes:
    """Encode a field that holds bytes, a string or a message."""
    return b"".join((varint(number << 3 | BYTES), varint(len(data)), data))


def signed(value: int) -> int:
    """Return a decoded varint as int64."""
    value &= _UINT64
    return value - 2**64 if value >= 2**63 else value


def read_double(data: bytes) -> float:
    """Decode a float64.

    Raises:
        ValueError: the data has not 8 bytes.
    """
    if len(data) != 8:
        raise ValueError("protobuf: a number of the wrong size")
    number: float = struct.unpack("<d", data)[0]
    return number


def read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the content of each field: an integer for a varint, bytes for all other wire types.

    Raises:
        ValueError: the data ends within a field, or a wire type is unknown.
    """
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        kind = key & 7
        if kind == VARINT:
            value, position = _read_varint(data, position)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, position = _read_varint(data, position)
        elif kind in (_FIXED32, FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"protobuf: unknown wire type {kind}")
        if position + size > len(data):
            raise ValueError("unexpected EOF")
        yield key >> 3, data[position : position + size]
        position += size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < _MAX_SHIFT:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("unexpected EOF")
