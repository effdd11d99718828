"""OpenAPI v3 in Protobuf.

Mirrors the messages of gnostic's openapiv3/OpenAPIv3.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apiext.meta.protobuf_wire import delimited
from apiext.openapi.gnostic import Encoder, Field, any_value, double, field, integer, mapping, message, tag, text


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a v3 document as the message Document."""
    return message(_DOCUMENT, document)


def _nested(fields: Mapping[str, Field], extensions: int, value: Mapping[str, Any]) -> bytes:
    return delimited(message(fields, value, extensions, _WHOLE))


def _or_reference(encoder: Encoder, value: Mapping[str, Any]) -> bytes:
    """Encode a value or a reference to it."""
    if isinstance(value.get("$ref"), str):
        return delimited(field(2, _reference, value))
    return delimited(field(1, encoder, value))


def _reference(value: Mapping[str, Any]) -> bytes:
    return _nested({"$ref": (1, text), "summary": (2, text), "description": (3, text)}, 0, value)


def _schema(value: Mapping[str, Any]) -> bytes:
    return delimited(message(_SCHEMA, value, 36, _WHOLE))


def _schema_or_reference(value: Mapping[str, Any]) -> bytes:
    if isinstance(value.get("$ref"), str):
        return delimited(field(2, _reference, value))
    return delimited(tag(1, _schema) + delimited(message(_SCHEMA, value, 36, _WHOLE)))


def _items(value: Mapping[str, Any]) -> bytes:
    return delimited(tag(1, _schema_or_reference) + _schema_or_reference(value))


def _additional(value: Any) -> bytes:
    return delimited(field(2, integer, value) if isinstance(value, bool) else tag(1, _schema_or_reference) + _schema_or_reference(value))


def _default(value: Any) -> bytes:
    """Encode a DefaultType: a number, a boolean or a string; any other value is dropped."""
    if isinstance(value, bool):
        return delimited(field(2, integer, value))
    if isinstance(value, str):
        return delimited(field(3, text, value))
    return delimited(field(1, double, value) if isinstance(value, int | float) else b"")


def _value(value: Any) -> bytes:
    """Encode a value of any type that may be a list."""
    return any_value(value)


def _media_types(value: Mapping[str, Any]) -> bytes:
    return mapping(partial(_nested, {"schema": (1, _schema_or_reference)}, 5), value)


def _parameter(value: Mapping[str, Any]) -> bytes:
    return _or_reference(partial(_nested, _PARAMETER, 14), value)


def _body(value: Mapping[str, Any]) -> bytes:
    fields: Mapping[str, Field] = {"description": (1, text), "content": (2, _media_types), "required": (3, integer)}
    return _or_reference(partial(_nested, fields, 4), value)


def _response(value: Mapping[str, Any]) -> bytes:
    return _or_reference(partial(_nested, {"description": (1, text), "content": (3, _media_types)}, 5), value)


def _responses(value: Mapping[str, Any]) -> bytes:
    return mapping(_response, value, number=2)


def _operation(value: Mapping[str, Any]) -> bytes:
    return _nested(_OPERATION, 13, value)


def _path_item(value: Mapping[str, Any]) -> bytes:
    return _nested(_PATH_ITEM, 14, value)


def _security_scheme(value: Mapping[str, Any]) -> bytes:
    fields: Mapping[str, Field] = {"type": (1, text), "description": (2, text), "name": (3, text), "in": (4, text)}
    return _or_reference(partial(_nested, fields, 9), value)


_WHOLE: Final = frozenset({_value, _default})
_EXTERNAL_DOCS: Final = partial(_nested, {"description": (1, text), "url": (2, text)}, 3)
_SCHEMA: Final[Mapping[str, Field]] = {
    "nullable": (1, integer),
    "externalDocs": (6, _EXTERNAL_DOCS),
    "example": (7, _value),
    "title": (9, text),
    "multipleOf": (10, double),
    "maximum": (11, double),
    "exclusiveMaximum": (12, integer),
    "minimum": (13, double),
    "exclusiveMinimum": (14, integer),
    "maxLength": (15, integer),
    "minLength": (16, integer),
    "pattern": (17, text),
    "maxItems": (18, integer),
    "minItems": (19, integer),
    "uniqueItems": (20, integer),
    "maxProperties": (21, integer),
    "minProperties": (22, integer),
    "required": (23, text),
    "enum": (24, any_value),
    "type": (25, text),
    "allOf": (26, _schema_or_reference),
    "oneOf": (27, _schema_or_reference),
    "anyOf": (28, _schema_or_reference),
    "not": (29, _schema),
    "items": (30, _items),
    "properties": (31, partial(mapping, _schema_or_reference)),
    "additionalProperties": (32, _additional),
    "default": (33, _default),
    "description": (34, text),
    "format": (35, text),
}
_PARAMETER: Final[Mapping[str, Field]] = {
    "name": (1, text),
    "in": (2, text),
    "description": (3, text),
    "required": (4, integer),
    "schema": (10, _schema_or_reference),
}
_OPERATION: Final[Mapping[str, Field]] = {
    "tags": (1, text),
    "description": (3, text),
    "operationId": (5, text),
    "parameters": (6, _parameter),
    "requestBody": (7, _body),
    "responses": (8, _responses),
}
_PATH_ITEM: Final[Mapping[str, Field]] = {
    "get": (4, _operation),
    "put": (5, _operation),
    "post": (6, _operation),
    "delete": (7, _operation),
    "patch": (10, _operation),
    "parameters": (13, _parameter),
}
_COMPONENTS: Final[Mapping[str, Field]] = {
    "schemas": (1, partial(mapping, _schema_or_reference)),
    "securitySchemes": (7, partial(mapping, _security_scheme)),
}
_DOCUMENT: Final[Mapping[str, Field]] = {
    "openapi": (1, text),
    "info": (2, partial(_nested, {"title": (1, text), "version": (6, text)}, 7)),
    "paths": (4, partial(mapping, _path_item)),
    "components": (5, partial(_nested, _COMPONENTS, 10)),
}
