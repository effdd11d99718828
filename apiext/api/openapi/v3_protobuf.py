"""OpenAPI v3 in Protobuf.

Mirrors the messages of gnostic's openapiv3/OpenAPIv3.proto, as far as the documents of this room use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apiext.api.openapi.gnostic import METHODS, Encoder, choice, fields, mapping, message, nested, scalar, schema_fields, tag
from apiext.base.meta.encoding.protobuf_wire import delimited


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


_REFERENCE: Final = partial(nested, fields("1 $ref, 2 summary, 3 description"), 0)
_SCHEMA: Final = schema_fields("v3", _schema_or_reference, **{"not": _schema, "default": scalar})
_MEDIA_TYPES: Final = partial(mapping, partial(nested, fields("1 schema", schema=_schema_or_reference), 5))
_BODY: Final = partial(_or_reference, partial(nested, fields("1 description, 2 content, 3 required", content=_MEDIA_TYPES), 4))
_RESPONSE: Final = partial(_or_reference, partial(nested, fields("1 description, 3 content", content=_MEDIA_TYPES), 5))
_PARAMETER_FIELDS: Final = fields("1 name, 2 in, 3 description, 4 required, 10 schema", schema=_schema_or_reference)
_PARAMETER: Final = partial(_or_reference, partial(nested, _PARAMETER_FIELDS, 14))
_OPERATION_FIELDS: Final = fields(
    "1 tags, 3 description, 5 operationId, 6 parameters, 7 requestBody, 8 responses",
    parameters=_PARAMETER,
    requestBody=_BODY,
    responses=partial(mapping, _RESPONSE, number=2),
)
_PATH_ITEM: Final = fields(
    "4 get, 5 put, 6 post, 7 delete, 10 patch, 13 parameters",
    **dict.fromkeys(METHODS, partial(nested, _OPERATION_FIELDS, 13)),
    parameters=_PARAMETER,
)
_SECURITY_SCHEME: Final = partial(nested, fields("1 type, 2 description, 3 name, 4 in"), 9)
_COMPONENTS: Final = fields(
    "1 schemas, 7 securitySchemes",
    schemas=partial(mapping, _schema_or_reference),
    securitySchemes=partial(mapping, partial(_or_reference, _SECURITY_SCHEME)),
)
_DOCUMENT: Final = fields(
    "1 openapi, 2 info, 4 paths, 5 components",
    info=partial(nested, fields("1 title, 6 version"), 7),
    paths=partial(mapping, partial(nested, _PATH_ITEM, 14)),
    components=partial(nested, _COMPONENTS, 10),
)
