"""Encoders of the values in gnostic's OpenAPI documents, v2 and v3: messages, maps, choices, and values of any type.

Mirrors the encoding of google.golang.org/protobuf. Each level of a schema takes three Python frames, see MAX_DEPTH.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, Final, Literal

from apiext.base.meta.encoding import protobuf_wire
from apiext.base.meta.encoding.protobuf_wire import BYTES, FIXED64, VARINT, delimited, double
from apiext.base.meta.encoding.yaml_codec import dumps_unsorted
from apiext.schema.keywords import KEYWORDS, Kind

Encoder = Callable[[Any], bytes]
Field = tuple[int, Encoder]
"""The number of a field, and the function that encodes its length and content."""


def text(value: str) -> bytes:
    """Encode a string."""
    return delimited(value.encode())


def integer(value: float) -> bytes:
    """Encode a whole number or a boolean."""
    return protobuf_wire.varint(int(value))


_PLAIN: Final[Mapping[Encoder, int]] = {integer: VARINT, double: FIXED64}
_SCALARS: Final[frozenset[Encoder]] = frozenset({text, *_PLAIN})

METHODS: Final = ("get", "put", "post", "delete", "patch")
"""Members of a path that hold operations."""
_FLAGS: Final = frozenset({"required", "uniqueItems"})


def fields(table: str, **encoders: Encoder) -> Mapping[str, Field]:
    """Return the fields of a message from a table such as "1 name, 3 schema". Those without an encoder are strings, or booleans."""
    numbered = ((name, int(number)) for number, name in (entry.split() for entry in table.split(",")))
    return {name: (number, encoders.get(name) or (integer if name in _FLAGS else text)) for name, number in numbered}


def tag(number: int, encoder: Encoder) -> bytes:
    """Encode the tag of a field."""
    return protobuf_wire.tag(number, _PLAIN.get(encoder, BYTES))


def field(number: int, encoder: Encoder, value: Any) -> bytes:
    """Encode a field with its tag."""
    return tag(number, encoder) + encoder(value)


def message(known: Mapping[str, Field], value: Mapping[str, Any], extensions: int = 0) -> bytes:
    """Encode a message: its known fields in the order of their numbers, without zero values.

    A list is a repeated field, except where its encoder takes lists. `x-` members go into the field with the number `extensions`.
    """
    parts: list[tuple[int, bytes]] = []
    for key, member in value.items():
        if key in known:
            number, encoder = known[key]
            if isinstance(member, list) and encoder not in _TAKE_LISTS:
                for one in member:
                    parts.append((number, tag(number, encoder) + encoder(one)))  # noqa: PERF401 -- a comprehension is one more frame
            elif member or encoder not in _SCALARS:
                parts.append((number, tag(number, encoder) + encoder(member)))
        elif extensions and key.startswith("x-"):
            parts.append((extensions, field(extensions, named_any, (key, member))))
    return b"".join([part for _, part in sorted(parts, key=itemgetter(0))])


def nested(known: Mapping[str, Field], extensions: int, value: Mapping[str, Any]) -> bytes:
    """Encode a nested message with its length."""
    return delimited(message(known, value, extensions))


def choice(number: int, encoder: Encoder, value: Any) -> bytes:
    """Encode a message that holds one of several types; `number` is the field of the type."""
    return delimited(field(number, encoder, value))


def items(encoder: Encoder, value: Any) -> bytes:
    """Encode a schema's items, a message that holds one schema."""
    return delimited(tag(1, encoder) + encoder(value))


def additional_properties(encoder: Encoder, value: Any) -> bytes:
    """Encode a schema's additionalProperties: a schema or a boolean."""
    return choice(2, integer, value) if isinstance(value, bool) else delimited(tag(1, encoder) + encoder(value))


def strings(value: str | list[str]) -> bytes:
    """Encode a message with a list of strings."""
    return delimited(b"".join(field(1, text, one) for one in ([value] if isinstance(value, str) else value)))


def scalar(value: Any) -> bytes:
    """Encode a number, a boolean or a string (DefaultType); any other value is dropped."""
    if isinstance(value, bool):
        return choice(2, integer, value)
    if isinstance(value, str):
        return choice(3, text, value)
    return choice(1, double, value) if isinstance(value, int | float) else delimited(b"")


def any_value(value: Any) -> bytes:
    """Encode a value of any type (Any), which holds YAML."""
    return delimited(protobuf_wire.field(2, dumps_unsorted(value)))


def any_or_list(value: Any) -> bytes:
    """Encode a value of any type that may be a list."""
    return any_value(value)


_EXTERNAL_DOCS: Final = partial(nested, {"description": (1, text), "url": (2, text)}, 3)
_TAKE_LISTS: Final[frozenset[Encoder]] = frozenset({strings, scalar, any_or_list})


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


_BY_KIND: Final[Mapping[Kind, Encoder]] = {
    "text": text,
    "optional text": text,
    "flag": integer,
    "count": integer,
    "number": double,
    "value": any_or_list,
    "values": any_value,
    "names": text,
    "docs": _EXTERNAL_DOCS,
}


def schema_fields(version: Literal["v2", "v3"], schema: Encoder, **special: Encoder) -> Mapping[str, Field]:
    """Return the fields of a schema; `schema` encodes the schemas in it, and `special` has the keywords that differ from their kind."""
    encoders: Mapping[Kind, Encoder] = {
        **_BY_KIND,
        "schemas": schema,
        "schema": schema,
        "schema or bool": partial(additional_properties, schema),
        "schema or schemas": partial(items, schema),
        "named schemas": partial(mapping, schema),
    }
    numbered = ((each, getattr(each, version)) for each in KEYWORDS)
    return {each.name: (number, special.get(each.name) or encoders[each.kind]) for each, number in numbered if number}
