"""OpenAPI v2 in Protobuf, the form that client-go requests.

Mirrors the messages of gnostic's openapiv2/OpenAPIv2.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apiext.api.openapi.gnostic import METHODS, choice, fields, mapping, message, nested, schema_fields, strings
from apiext.base.meta.encoding.protobuf_wire import delimited


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode a v2 document as the message Document."""
    return message(_DOCUMENT, document)


def _schema(value: Mapping[str, Any]) -> bytes:
    return delimited(message(_SCHEMA, value, 31))


def _parameter(value: Mapping[str, Any]) -> bytes:
    """Encode a Parameter: a body, query or path parameter."""
    if value["in"] == "body":
        return choice(1, partial(nested, _BODY, 6), value)
    number, known, extensions = (3, _QUERY, 23) if value["in"] == "query" else (4, _PATH, 22)
    return choice(2, partial(choice, number, partial(nested, known, extensions)), value)


def _parameter_or_reference(value: Mapping[str, Any]) -> bytes:
    return choice(2, _REFERENCE, value) if "$ref" in value else choice(1, _parameter, value)


_REFERENCE: Final = partial(nested, fields("1 $ref, 2 description"), 0)
_SCHEMA: Final = schema_fields("v2", _schema, type=strings)
_BODY: Final = fields("1 description, 2 name, 3 in, 4 required, 5 schema", schema=_schema)
_PATH: Final = fields("1 required, 2 in, 3 description, 4 name, 5 type, 6 format, 19 uniqueItems")
_QUERY: Final = fields("1 required, 2 in, 3 description, 4 name, 6 type, 7 format, 20 uniqueItems")
_RESPONSE: Final = partial(nested, fields("1 description, 2 schema", schema=partial(choice, 1, _schema)), 5)
_OPERATION_FIELDS: Final = fields(
    "1 tags, 3 description, 5 operationId, 6 produces, 7 consumes, 8 parameters, 9 responses, 10 schemes",
    parameters=_parameter_or_reference,
    responses=partial(mapping, partial(choice, 1, _RESPONSE)),
)
_PATH_ITEM: Final = fields(
    "2 get, 3 put, 4 post, 5 delete, 8 patch, 9 parameters",
    **dict.fromkeys(METHODS, partial(nested, _OPERATION_FIELDS, 13)),
    parameters=_parameter_or_reference,
)
_SECURITY_DEFINITION: Final = partial(choice, 2, partial(nested, fields("1 type, 2 name, 3 in, 4 description"), 5))
"""An API key; the documents have no other."""
_DOCUMENT: Final = fields(
    "1 swagger, 2 info, 8 paths, 9 definitions, 10 parameters, 12 security, 13 securityDefinitions",
    info=partial(nested, fields("1 title, 2 version"), 7),
    paths=partial(mapping, partial(nested, _PATH_ITEM, 10), number=2),
    definitions=partial(mapping, _schema),
    parameters=partial(mapping, _parameter),
    security=partial(mapping, strings),
    securityDefinitions=partial(mapping, _SECURITY_DEFINITION),
)
