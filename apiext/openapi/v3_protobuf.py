"""OpenAPI v3 in Protobuf.

Mirrors the messages of gnostic's openapiv3/OpenAPIv3.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apiext.meta.encoding.protobuf_wire import delimited
from apiext.openapi.gnostic import (
    Encoder,
    Field,
    choice,
    integer,
    mapping,
    message,
    nested,
    scalar,
    schema_fields,
    tag,
    text,
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a v3 document as the message Document."""
    return message(_DOCUMENT, document)


def _or_reference(encoder: Encoder, value: Mapping[str, Any]) -> bytes:
    """Encode a value or a reference to it."""
    return choice(2, _REFERENCE, value) if isinstance(value.get("$ref"), str) else choice(1, encoder, value)


def _schema(value: Mapping[str, Any]) -> bytes:
    return delimited(message(_SCHEMA, value, 36))


def _schema_or_reference(value: Mapping[str, Any]) -> bytes:
    """Encode as `_or_reference` does, with fewer Python frames."""
    if isinstance(value.get("$ref"), str):
        return choice(2, _REFERENCE, value)
    return delimited(tag(1, _schema) + delimited(message(_SCHEMA, value, 36)))


_REFERENCE: Final = partial(nested, {"$ref": (1, text), "summary": (2, text), "description": (3, text)}, 0)
_SCHEMA: Final = schema_fields("v3", _schema_or_reference, **{"not": _schema, "default": scalar})
_MEDIA_TYPES: Final = partial(mapping, partial(nested, {"schema": (1, _schema_or_reference)}, 5))
_BODY: Final = partial(
    _or_reference, partial(nested, {"description": (1, text), "content": (2, _MEDIA_TYPES), "required": (3, integer)}, 4)
)
_RESPONSE: Final = partial(_or_reference, partial(nested, {"description": (1, text), "content": (3, _MEDIA_TYPES)}, 5))
_PARAMETER_FIELDS: Final[Mapping[str, Field]] = {
    "name": (1, text),
    "in": (2, text),
    "description": (3, text),
    "required": (4, integer),
    "schema": (10, _schema_or_reference),
}
_PARAMETER: Final = partial(_or_reference, partial(nested, _PARAMETER_FIELDS, 14))
_OPERATION_FIELDS: Final[Mapping[str, Field]] = {
    "tags": (1, text),
    "description": (3, text),
    "operationId": (5, text),
    "parameters": (6, _PARAMETER),
    "requestBody": (7, _BODY),
    "responses": (8, partial(mapping, _RESPONSE, number=2)),
}
_OPERATION: Final = partial(nested, _OPERATION_FIELDS, 13)
_PATH_ITEM: Final[Mapping[str, Field]] = {
    "get": (4, _OPERATION),
    "put": (5, _OPERATION),
    "post": (6, _OPERATION),
    "delete": (7, _OPERATION),
    "patch": (10, _OPERATION),
    "parameters": (13, _PARAMETER),
}
_SECURITY_SCHEME: Final = partial(nested, {"type": (1, text), "description": (2, text), "name": (3, text), "in": (4, text)}, 9)
_COMPONENTS: Final[Mapping[str, Field]] = {
    "schemas": (1, partial(mapping, _schema_or_reference)),
    "securitySchemes": (7, partial(mapping, partial(_or_reference, _SECURITY_SCHEME))),
}
_DOCUMENT: Final[Mapping[str, Field]] = {
    "openapi": (1, text),
    "info": (2, partial(nested, {"title": (1, text), "version": (6, text)}, 7)),
    "paths": (4, partial(mapping, partial(nested, _PATH_ITEM, 14))),
    "components": (5, partial(nested, _COMPONENTS, 10)),
}
