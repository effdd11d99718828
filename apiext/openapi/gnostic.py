"""The messages of gnostic's OpenAPI documents that v2 and v3 share: named values, maps, and values of any type.

Mirrors what google.golang.org/protobuf writes. A schema takes three Python frames for each of its levels, see MAX_DEPTH.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any, Final

from apiext.endpoints.serializers.yaml_codec import dumps_unsorted
from apiext.meta import protobuf_wire
from apiext.meta.protobuf_wire import BYTES, FIXED64, VARINT, delimited

Encoder = Callable[[Any], bytes]
Field = tuple[int, Encoder]
"""The number of a field and the function that encodes its content, the length included."""


def text(value: str) -> bytes:
    """Encode a string."""
    return delimited(value.encode())


def integer(value: float) -> bytes:
    """Encode a whole number or a boolean."""
    return protobuf_wire.varint(int(value))


def double(value: float) -> bytes:
    """Encode a number."""
    return protobuf_wire.double(value)


_PLAIN: Final[Mapping[Encoder, int]] = {integer: VARINT, double: FIXED64}
_SCALARS: Final[frozenset[Encoder]] = frozenset({text, integer, double})


def tag(number: int, encoder: Encoder) -> bytes:
    """Encode the tag of a field."""
    return protobuf_wire.tag(number, _PLAIN.get(encoder, BYTES))


def field(number: int, encoder: Encoder, value: Any) -> bytes:
    """Encode a field with its tag."""
    return tag(number, encoder) + encoder(value)


def message(fields: Mapping[str, Field], value: Mapping[str, Any], extensions: int = 0, whole: Collection[Encoder] = ()) -> bytes:
    """Encode a message: its known fields in the order of their numbers, without those that are zero.

    A list is a repeated field, except where its encoder is one of `whole`. `x-` members go into the field with the number
    `extensions`.
    """
    parts: list[tuple[int, bytes]] = []
    for key, member in value.items():
        if key in fields:
            number, encoder = fields[key]
            if isinstance(member, list) and encoder not in whole:
                for one in member:
                    parts.append((number, tag(number, encoder) + encoder(one)))  # noqa: PERF401 -- a comprehension is one more frame
            elif member or encoder not in _SCALARS:
                parts.append((number, tag(number, encoder) + encoder(member)))
        elif extensions and key.startswith("x-"):
            parts.append((extensions, field(extensions, named_any, (key, member))))
    return b"".join([part for _, part in sorted(parts, key=itemgetter(0))])


def any_value(value: Any) -> bytes:
    """Encode a value of any type (Any), which holds YAML."""
    return delimited(protobuf_wire.field(2, dumps_unsorted(value)))


def named_any(item: tuple[str, Any]) -> bytes:
    """Encode an extension: its name and its value."""
    name, value = item
    return delimited(field(1, text, name) + field(2, any_value, value))


def mapping(encoder: Encoder, value: Mapping[str, Any], number: int = 1) -> bytes:
    """Encode a map: a repeated field of messages that hold a name and a value."""
    entries: list[bytes] = []
    for name, member in value.items():
        entry = field(1, text, name) + tag(2, encoder) + encoder(member)
        entries.append(protobuf_wire.field(number, entry))
    return delimited(b"".join(entries))
