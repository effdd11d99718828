"""Encodes the header blocks of responses (HPACK, RFC 7541): literals that enter no table, so that no block depends on another one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hpack.table import HeaderTable

from apiext.api.endpoints.responsewriters.response import LINE_BREAK

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES: Final = {name: index for index, (name, _) in reversed(list(enumerate(HeaderTable.STATIC_TABLE, 1)))}
_STATUSES: Final = {value: index for index, (name, value) in enumerate(HeaderTable.STATIC_TABLE, 1) if name == b":status"}
_CACHED: Final = 256
_CACHED_FIELDS: Final = 1024
_FOUR_BITS: Final = 0x0F
_SEVEN_BITS: Final = 0x7F


def encode_head(status: int, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the header block of a response. Names may have upper case letters.

    Raises:
        ValueError: a value contains a line break.
    """
    parts = [_status(status)]
    for name, value in fields:
        parts.append(_field(name, value))
    return b"".join(parts)


@lru_cache(_CACHED_FIELDS)  # most are the same in many responses
def _field(name: str, value: str) -> bytes:
    data = value.encode(errors="surrogateescape")
    if b"\n" in data or b"\r" in data:
        raise ValueError(LINE_BREAK)
    return _name(name) + _integer(len(data), _SEVEN_BITS) + data


@lru_cache(_CACHED)
def _status(status: int) -> bytes:
    value = b"%d" % status
    index = _STATUSES.get(value)
    return bytes((0x80 | index,)) if index is not None else bytes((_NAMES[b":status"], len(value))) + value


@lru_cache(_CACHED)
def _name(name: str) -> bytes:
    """Return the beginning of a field, up to its value."""
    data = name.lower().encode()
    index = _NAMES.get(data)
    return _integer(index, _FOUR_BITS) if index is not None else b"\0" + _integer(len(data), _SEVEN_BITS) + data


def _integer(value: int, most: int) -> bytes:
    """Encode an integer that begins with the last bits of a byte, whose greatest value is `most` (RFC 7541, section 5.1)."""
    if value < most:
        return bytes((value,))
    encoded, rest = bytearray((most,)), value - most
    while rest > _SEVEN_BITS:
        encoded.append(rest & _SEVEN_BITS | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
