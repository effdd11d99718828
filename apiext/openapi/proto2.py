"""OpenAPI v2 in Protobuf, which is how client-go asks for it.

Mirrors the messages of gnostic's openapiv2/OpenAPIv2.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from apiext.openapi import blockyaml

Encoder = Callable[[Any], bytes]
Field = tuple[int, Encoder]
"""A field's number, and what makes its bytes, the length included."""

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def encode(document: Mapping[str, Any]) -> bytes:
    """A v2 document as the message Document."""
    return _message(_DOCUMENT, document)


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _text(value: str) -> bytes:
    return _sized(value.encode())


def _integer(value: float) -> bytes:
    return _varint(int(value) & 0xFFFFFFFFFFFFFFFF)


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


_PLAIN: Final[Mapping[Encoder, int]] = {_integer: _VARINT, _double: _FIXED64}


def _field(number: int, encoder: Encoder, value: Any) -> bytes:
    return _varint(number << 3 | _PLAIN.get(encoder, _BYTES)) + encoder(value)


def _message(fields: Mapping[str, Field], value: Mapping[str, Any], extensions: int = 0) -> bytes:
    """A message of known fields; `x-` members go into the field of that number."""
    out = []
    for key, member in value.items():
        if key in fields:
            number, encoder = fields[key]
            # a list is a repeated field, except where its encoder takes it whole
            members = member if isinstance(member, list) and encoder not in _WHOLE else (member,)
            out += [_field(number, encoder, one) for one in members]
        elif extensions and key.startswith("x-"):
            out.append(_field(extensions, _named_any, (key, member)))
    return b"".join(out)


def _nested(fields: Mapping[str, Field], extensions: int, value: Mapping[str, Any]) -> bytes:
    return _sized(_message(fields, value, extensions))


def _any(value: Any) -> bytes:
    """Any: the value as YAML."""
    return _sized(_field(2, _text, blockyaml.dumps(value)))


def _value(value: Any) -> bytes:
    """Any that may itself be a list."""
    return _any(value)


def _named(encoder: Encoder, item: tuple[str, Any]) -> bytes:
    name, value = item
    return _sized(_field(1, _text, name) + _field(2, encoder, value))


def _named_any(item: tuple[str, Any]) -> bytes:
    return _named(_any, item)


def _map(encoder: Encoder, value: Mapping[str, Any], number: int = 1) -> bytes:
    """A message that is a map: a repeated field of names and values."""
    named = partial(_named, encoder)
    return _sized(b"".join(_field(number, named, item) for item in value.items()))


def _strings(values: Iterable[str]) -> bytes:
    """A message that is a list of strings."""
    return _sized(b"".join(_field(1, _text, value) for value in values))


def _type(value: str | list[str]) -> bytes:
    return _strings([value] if isinstance(value, str) else value)


def _additional(value: Any) -> bytes:
    return _sized(_field(2, _integer, value) if isinstance(value, bool) else _field(1, _schema, value))


def _items(value: Mapping[str, Any]) -> bytes:
    return _sized(_field(1, _schema, value))


def _schema(value: Mapping[str, Any]) -> bytes:
    return _nested(_SCHEMA, 31, value)


def _schema_item(value: Mapping[str, Any]) -> bytes:
    return _sized(_field(1, _schema, value))


def _reference(value: Mapping[str, Any]) -> bytes:
    return _nested({"$ref": (1, _text), "description": (2, _text)}, 0, value)


def _parameter(value: Mapping[str, Any]) -> bytes:
    """Parameter: one of a body and three others, by where it stands."""
    if value["in"] == "body":
        return _sized(_field(1, partial(_nested, _BODY, 6), value))
    number, fields, extensions = (3, _QUERY, 23) if value["in"] == "query" else (4, _PATH, 22)
    sub = partial(_nested, fields, extensions)
    return _sized(_field(2, lambda inner: _sized(_field(number, sub, inner)), value))


def _parameters_item(value: Mapping[str, Any]) -> bytes:
    return _sized(_field(2, _reference, value) if "$ref" in value else _field(1, _parameter, value))


def _response(value: Mapping[str, Any]) -> bytes:
    return _nested({"description": (1, _text), "schema": (2, _schema_item)}, 5, value)


def _response_value(value: Mapping[str, Any]) -> bytes:
    return _sized(_field(1, _response, value))


def _operation(value: Mapping[str, Any]) -> bytes:
    return _nested(_OPERATION, 13, value)


def _path_item(value: Mapping[str, Any]) -> bytes:
    return _nested(_PATH_ITEM, 10, value)


def _security_definition(value: Mapping[str, Any]) -> bytes:
    """SecurityDefinitionsItem: an API key is the only one in use."""
    fields: Mapping[str, Field] = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}
    return _sized(_field(2, partial(_nested, fields, 5), value))


_WHOLE: Final = frozenset({_value, _type})

_EXTERNAL_DOCS: Final = partial(_nested, {"description": (1, _text), "url": (2, _text)}, 3)

_SCHEMA: Final[Mapping[str, Field]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _value),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _integer),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _integer),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _integer),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _text),
    "enum": (20, _any),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _items),
    "properties": (25, partial(_map, _schema)),
    "externalDocs": (29, _EXTERNAL_DOCS),
    "example": (30, _value),
}
_BODY: Final[Mapping[str, Field]] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _integer),
    "schema": (5, _schema),
}
_PATH: Final[Mapping[str, Field]] = {
    "required": (1, _integer),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": (19, _integer),
}
_QUERY: Final[Mapping[str, Field]] = {**_PATH, "type": (6, _text), "format": (7, _text), "uniqueItems": (20, _integer)}
_OPERATION: Final[Mapping[str, Field]] = {
    "tags": (1, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _text),
    "consumes": (7, _text),
    "parameters": (8, _parameters_item),
    "responses": (9, partial(_map, _response_value)),
    "schemes": (10, _text),
}
_PATH_ITEM: Final[Mapping[str, Field]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters_item),
}
_INFO: Final[Mapping[str, Field]] = {"title": (1, _text), "version": (2, _text)}
_DOCUMENT: Final[Mapping[str, Field]] = {
    "swagger": (1, _text),
    "info": (2, partial(_nested, _INFO, 7)),
    "paths": (8, partial(_map, _path_item, number=2)),
    "definitions": (9, partial(_map, _schema)),
    "parameters": (10, partial(_map, _parameter)),
    "security": (12, partial(_map, _strings)),
    "securityDefinitions": (13, partial(_map, _security_definition)),
}
