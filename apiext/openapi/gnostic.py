"""Pieces of gnostic's messages, which carry OpenAPI in Protobuf: numbers, texts, named values, and values of any type.

Mirrors what google.golang.org/protobuf writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, Final

from apiext.openapi import block_yaml

Encoder = Callable[[Any], bytes]
Field = tuple[int, Encoder]
"""A field's number, and what makes its bytes, the length included."""

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def sized(data: bytes) -> bytes:
    """Bytes after their length."""
    return _varint(len(data)) + data


def text(value: str) -> bytes:
    """A text."""
    return sized(value.encode())


def integer(value: float) -> bytes:
    """A whole number or a boolean."""
    return _varint(int(value) & 0xFFFFFFFFFFFFFFFF)


def double(value: float) -> bytes:
    """A number."""
    return struct.pack("<d", value)


_PLAIN: Final[Mapping[Encoder, int]] = {integer: _VARINT, double: _FIXED64}
_SCALARS: Final[frozenset[Encoder]] = frozenset({text, integer, double})


def field(number: int, encoder: Encoder, value: Any) -> bytes:
    """A field with its tag."""
    return _varint(number << 3 | _PLAIN.get(encoder, _BYTES)) + encoder(value)


def message(fields: Mapping[str, Field], value: Mapping[str, Any], extensions: int = 0, whole: Collection[Encoder] = ()) -> bytes:
    """A message of known fields in the order of their numbers, without those that are zero.

    A list is a repeated field, except where its encoder is one of `whole`. `x-` members go into the field of the number
    `extensions`.
    """
    parts: list[tuple[int, bytes]] = []
    for key, member in value.items():
        if key in fields:
            number, encoder = fields[key]
            if isinstance(member, list) and encoder not in whole:
                parts += [(number, field(number, encoder, one)) for one in member]
            elif member or encoder not in _SCALARS:
                parts.append((number, field(number, encoder, member)))
        elif extensions and key.startswith("x-"):
            parts.append((extensions, field(extensions, named_any, (key, member))))
    return b"".join([part for _, part in sorted(parts, key=itemgetter(0))])


def any_value(value: Any) -> bytes:
    """Any: the value as YAML."""
    return sized(field(2, text, block_yaml.dumps(value)))


def named(encoder: Encoder, item: tuple[str, Any]) -> bytes:
    """A message of a name and a value."""
    name, value = item
    return sized(field(1, text, name) + field(2, encoder, value))


def named_any(item: tuple[str, Any]) -> bytes:
    """An extension: its name and its value."""
    return named(any_value, item)


def mapping(encoder: Encoder, value: Mapping[str, Any], number: int = 1) -> bytes:
    """A message that is a map: a repeated field of names and values."""
    member = partial(named, encoder)
    return sized(b"".join(field(number, member, item) for item in value.items()))
