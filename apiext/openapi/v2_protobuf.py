"""OpenAPI v2 in Protobuf, the form that client-go requests.

Mirrors the messages of gnostic's openapiv2/OpenAPIv2.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from apiext.meta.protobuf_wire import delimited
from apiext.openapi.gnostic import Field, any_value, double, field, integer, mapping, message, tag, text


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a v2 document as the message Document."""
    return message(_DOCUMENT, document)


def _nested(fields: Mapping[str, Field], extensions: int, value: Mapping[str, Any]) -> bytes:
    return delimited(message(fields, value, extensions, _WHOLE))


def _value(value: Any) -> bytes:
    """Encode a value of any type that may be a list."""
    return any_value(value)


def _strings(values: Iterable[str]) -> bytes:
    """Encode a message with a list of strings."""
    return delimited(b"".join(field(1, text, value) for value in values))


def _type(value: str | list[str]) -> bytes:
    return _strings([value] if isinstance(value, str) else value)


def _additional(value: Any) -> bytes:
    return delimited(field(2, integer, value) if isinstance(value, bool) else tag(1, _schema) + _schema(value))


def _items(value: Mapping[str, Any]) -> bytes:
    return delimited(tag(1, _schema) + _schema(value))


def _schema(value: Mapping[str, Any]) -> bytes:
    return delimited(message(_SCHEMA, value, 31, _WHOLE))


def _schema_item(value: Mapping[str, Any]) -> bytes:
    return delimited(field(1, _schema, value))


def _reference(value: Mapping[str, Any]) -> bytes:
    return _nested({"$ref": (1, text), "description": (2, text)}, 0, value)


def _parameter(value: Mapping[str, Any]) -> bytes:
    """Encode a Parameter: a body, query or path parameter."""
    if value["in"] == "body":
        return delimited(field(1, partial(_nested, _BODY, 6), value))
    number, fields, extensions = (3, _QUERY, 23) if value["in"] == "query" else (4, _PATH, 22)
    sub = partial(_nested, fields, extensions)
    return delimited(field(2, lambda inner: delimited(field(number, sub, inner)), value))


def _parameters_item(value: Mapping[str, Any]) -> bytes:
    return delimited(field(2, _reference, value) if "$ref" in value else field(1, _parameter, value))


def _response(value: Mapping[str, Any]) -> bytes:
    return _nested({"description": (1, text), "schema": (2, _schema_item)}, 5, value)


def _response_value(value: Mapping[str, Any]) -> bytes:
    return delimited(field(1, _response, value))


def _operation(value: Mapping[str, Any]) -> bytes:
    return _nested(_OPERATION, 13, value)


def _path_item(value: Mapping[str, Any]) -> bytes:
    return _nested(_PATH_ITEM, 10, value)


def _security_definition(value: Mapping[str, Any]) -> bytes:
    """Encode a SecurityDefinitionsItem, always an API key."""
    fields: Mapping[str, Field] = {"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}
    return delimited(field(2, partial(_nested, fields, 5), value))


_WHOLE: Final = frozenset({_value, _type})

_EXTERNAL_DOCS: Final = partial(_nested, {"description": (1, text), "url": (2, text)}, 3)

_SCHEMA: Final[Mapping[str, Field]] = {
    "$ref": (1, text),
    "format": (2, text),
    "title": (3, text),
    "description": (4, text),
    "default": (5, _value),
    "multipleOf": (6, double),
    "maximum": (7, double),
    "exclusiveMaximum": (8, integer),
    "minimum": (9, double),
    "exclusiveMinimum": (10, integer),
    "maxLength": (11, integer),
    "minLength": (12, integer),
    "pattern": (13, text),
    "maxItems": (14, integer),
    "minItems": (15, integer),
    "uniqueItems": (16, integer),
    "maxProperties": (17, integer),
    "minProperties": (18, integer),
    "required": (19, text),
    "enum": (20, any_value),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _items),
    "properties": (25, partial(mapping, _schema)),
    "externalDocs": (29, _EXTERNAL_DOCS),
    "example": (30, _value),
}
_BODY: Final[Mapping[str, Field]] = {
    "description": (1, text),
    "name": (2, text),
    "in": (3, text),
    "required": (4, integer),
    "schema": (5, _schema),
}
_PATH: Final[Mapping[str, Field]] = {
    "required": (1, integer),
    "in": (2, text),
    "description": (3, text),
    "name": (4, text),
    "type": (5, text),
    "format": (6, text),
    "uniqueItems": (19, integer),
}
_QUERY: Final[Mapping[str, Field]] = {**_PATH, "type": (6, text), "format": (7, text), "uniqueItems": (20, integer)}
_OPERATION: Final[Mapping[str, Field]] = {
    "tags": (1, text),
    "description": (3, text),
    "operationId": (5, text),
    "produces": (6, text),
    "consumes": (7, text),
    "parameters": (8, _parameters_item),
    "responses": (9, partial(mapping, _response_value)),
    "schemes": (10, text),
}
_PATH_ITEM: Final[Mapping[str, Field]] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters_item),
}
_INFO: Final[Mapping[str, Field]] = {"title": (1, text), "version": (2, text)}
_DOCUMENT: Final[Mapping[str, Field]] = {
    "swagger": (1, text),
    "info": (2, partial(_nested, _INFO, 7)),
    "paths": (8, partial(mapping, _path_item, number=2)),
    "definitions": (9, partial(mapping, _schema)),
    "parameters": (10, partial(mapping, _parameter)),
    "security": (12, partial(mapping, _strings)),
    "securityDefinitions": (13, partial(mapping, _security_definition)),
}
