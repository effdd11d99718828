"""v1 CustomResourceDefinition in protobuf, for client-go's typed clients.

Mirrors apiextensions-apiserver pkg/apis/apiextensions/v1/generated.proto, and marshal.go where a message is a union.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.definitions import types
from apiext.registry.protobuf.kinds import MapOf, Message, Scalar, message_of

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object


class _SchemaOrBool(Message):
    """A union of a schema and a bool."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """Return the schema or the bool of a message."""
        either: Object = super().read(data)
        return either.get("schema", either.get("allows", False))

    def write(self, obj: Any) -> bytes:
        """Encode a schema or a bool; a schema also sets the bool."""
        return super().write({"allows": obj} if isinstance(obj, bool) else {"allows": True, "schema": obj})


class _SchemaOrList(Message):
    """A union of a list and a schema."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """Return the list if it has members, else the schema or None."""
        either: Object = super().read(data)
        return either.get("list") or either.get("schema")

    def write(self, obj: Any) -> bytes:
        """Encode a list or a schema."""
        return super().write({"list" if isinstance(obj, list) else "schema": obj})


_TEXT, _INT, _BOOL, _FLOAT, _JSON = Scalar.TEXT, Scalar.INT, Scalar.BOOL, Scalar.FLOAT, Scalar.JSON

SCHEMA_WIRE: Final = Message({})
_NAMED: Final = MapOf(SCHEMA_WIRE)
_OR_BOOL: Final = _SchemaOrBool({1: ("allows", _BOOL), 2: ("schema", SCHEMA_WIRE)}, optional={"schema"})
_OR_ARRAY: Final = _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", SCHEMA_WIRE)}, repeated={"list"}, optional={"schema"})
_OR_STRINGS: Final = _SchemaOrList({1: ("schema", SCHEMA_WIRE), 2: ("list", _TEXT)}, repeated={"list"}, optional={"schema"})

_RULE: Final = Message(
    {
        1: ("rule", _TEXT),
        2: ("message", _TEXT),
        3: ("messageExpression", _TEXT),
        4: ("reason", _TEXT),
        5: ("fieldPath", _TEXT),
        6: ("optionalOldSelf", _BOOL),
    },
    optional={"reason", "optionalOldSelf"},
)

SCHEMA_WIRE.define(
    {
        1: ("id", _TEXT),
        2: ("$schema", _TEXT),
        3: ("$ref", _TEXT),
        4: ("description", _TEXT),
        5: ("type", _TEXT),
        6: ("format", _TEXT),
        7: ("title", _TEXT),
        8: ("default", _JSON),
        9: ("maximum", _FLOAT),
        10: ("exclusiveMaximum", _BOOL),
        11: ("minimum", _FLOAT),
        12: ("exclusiveMinimum", _BOOL),
        13: ("maxLength", _INT),
        14: ("minLength", _INT),
        15: ("pattern", _TEXT),
        16: ("maxItems", _INT),
        17: ("minItems", _INT),
        18: ("uniqueItems", _BOOL),
        19: ("multipleOf", _FLOAT),
        20: ("enum", _JSON),
        21: ("maxProperties", _INT),
        22: ("minProperties", _INT),
        23: ("required", _TEXT),
        24: ("items", _OR_ARRAY),
        25: ("allOf", SCHEMA_WIRE),
        26: ("oneOf", SCHEMA_WIRE),
        27: ("anyOf", SCHEMA_WIRE),
        28: ("not", SCHEMA_WIRE),
        29: ("properties", _NAMED),
        30: ("additionalProperties", _OR_BOOL),
        31: ("patternProperties", _NAMED),
        32: ("dependencies", MapOf(_OR_STRINGS)),
        33: ("additionalItems", _OR_BOOL),
        34: ("definitions", _NAMED),
        35: ("externalDocs", Message({1: ("description", _TEXT), 2: ("url", _TEXT)})),
        36: ("example", _JSON),
        37: ("nullable", _BOOL),
        38: ("x-kubernetes-preserve-unknown-fields", _BOOL),
        39: ("x-kubernetes-embedded-resource", _BOOL),
        40: ("x-kubernetes-int-or-string", _BOOL),
        41: ("x-kubernetes-list-map-keys", _TEXT),
        42: ("x-kubernetes-list-type", _TEXT),
        43: ("x-kubernetes-map-type", _TEXT),
        44: ("x-kubernetes-validations", _RULE),
    },
    repeated={"enum", "required", "allOf", "oneOf", "anyOf", "x-kubernetes-list-map-keys", "x-kubernetes-validations"},
    optional={
        "$ref",
        "default",
        "maximum",
        "minimum",
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "multipleOf",
        "maxProperties",
        "minProperties",
        "items",
        "not",
        "additionalProperties",
        "additionalItems",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    },
)

DEFINITION_WIRE: Final = message_of(types.DEFINITION, {types.SCHEMA: SCHEMA_WIRE, types.BYTES: Scalar.BASE64})
