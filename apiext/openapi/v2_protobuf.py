"""OpenAPI v2 in Protobuf, the form that client-go requests.

Mirrors the messages of gnostic's openapiv2/OpenAPIv2.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apiext.meta.encoding.protobuf_wire import delimited
from apiext.openapi.gnostic import (
    Field,
    choice,
    integer,
    mapping,
    message,
    nested,
    schema_fields,
    strings,
    text,
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a v2 document as the message Document."""
    return message(_DOCUMENT, document)


def _schema(value: Mapping[str, Any]) -> bytes:
    return delimited(message(_SCHEMA, value, 31))


def _parameter(value: Mapping[str, Any]) -> bytes:
    """Encode a Parameter: a body, query or path parameter."""
    if value["in"] == "body":
        return choice(1, partial(nested, _BODY, 6), value)
    number, fields, extensions = (3, _QUERY, 23) if value["in"] == "query" else (4, _PATH, 22)
    return choice(2, partial(choice, number, partial(nested, fields, extensions)), value)


def _parameter_or_reference(value: Mapping[str, Any]) -> bytes:
    return choice(2, _REFERENCE, value) if "$ref" in value else choice(1, _parameter, value)


_REFERENCE: Final = partial(nested, {"$ref": (1, text), "description": (2, text)}, 0)
_SCHEMA: Final = schema_fields("v2", _schema, type=strings)
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
_RESPONSE: Final = partial(nested, {"description": (1, text), "schema": (2, partial(choice, 1, _schema))}, 5)
_OPERATION_FIELDS: Final[Mapping[str, Field]] = {
    "tags": (1, text),
    "description": (3, text),
    "operationId": (5, text),
    "produces": (6, text),
    "consumes": (7, text),
    "parameters": (8, _parameter_or_reference),
    "responses": (9, partial(mapping, partial(choice, 1, _RESPONSE))),
    "schemes": (10, text),
}
_OPERATION: Final = partial(nested, _OPERATION_FIELDS, 13)
_PATH_ITEM: Final[Mapping[str, Field]] = {
    "get": (2, _OPERATION),
    "put": (3, _OPERATION),
    "post": (4, _OPERATION),
    "delete": (5, _OPERATION),
    "patch": (8, _OPERATION),
    "parameters": (9, _parameter_or_reference),
}
_SECURITY_DEFINITION: Final = partial(
    choice, 2, partial(nested, {"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}, 5)
)
"""An API key; the documents have no other."""
_DOCUMENT: Final[Mapping[str, Field]] = {
    "swagger": (1, text),
    "info": (2, partial(nested, {"title": (1, text), "version": (2, text)}, 7)),
    "paths": (8, partial(mapping, partial(nested, _PATH_ITEM, 10), number=2)),
    "definitions": (9, partial(mapping, _schema)),
    "parameters": (10, partial(mapping, _parameter)),
    "security": (12, partial(mapping, strings)),
    "securityDefinitions": (13, partial(mapping, _SECURITY_DEFINITION)),
}
