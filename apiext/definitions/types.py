"""Go types of the v1 CustomResourceDefinition (apiextensions-apiserver pkg/apis/apiextensions/v1/types*.go).

Fields have the order of the Go structs, in which they are encoded.
"""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

import base64
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from apiext.meta.golang.time_types import Time
from apiext.meta.golang.type_model import Bool, DecodeError, Decoder, Field, Float, GoType, Int, Map, Pointer, Raw, Slice, String, Struct
from apiext.meta.objectmeta.canonical import OBJECT_META
from apiext.schema.keywords import KEYWORDS, Kind


class Bytes(GoType):
    """Go type []byte, base64 in JSON."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("[]uint8")

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, list):
            _OCTETS.check(value, decoder)
        elif isinstance(value, str):
            if _decode_base64(value) is None:
                decoder.save(DecodeError(f"illegal base64 data at input byte {_bad_base64(value)}"))
        elif value is not None:
            decoder.mismatch(value, self.name)

    def canonical(self, value: Any) -> Any:
        octets = _OCTETS.canonical(value)
        data = bytes(octets) if octets is not None else _decode_base64(value)
        return None if data is None else base64.b64encode(data).decode()


_OCTETS: Final = Slice(Int(8, signed=False))


def _decode_base64(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value.replace("\n", "").replace("\r", "").encode(), validate=True)
    except ValueError:
        return None


def _bad_base64(text: str) -> int:
    """Return the position at which Go's decoder fails: the first byte outside the alphabet, or the end of truncated data."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
    data = text.encode()
    bad = next((index for index, byte in enumerate(data) if byte not in alphabet), None)
    return bad if bad is not None else len(data) - len(data) % 4


class SchemaOrBool(GoType):
    """Go type JSONSchemaPropsOrBool."""

    __slots__ = ()

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, dict):
            decoder.nested(SCHEMA, value)
        elif not isinstance(value, bool):
            raise DecodeError("boolean or JSON schema expected")

    def canonical(self, value: Any) -> Any:
        return SCHEMA.canonical(value) if isinstance(value, dict) else value is True


class SchemaOrList(GoType):
    """Go types JSONSchemaPropsOrArray and JSONSchemaPropsOrStringArray. Other values count as empty, and are encoded as null."""

    __slots__ = ("list_type",)

    def __init__(self, name: str, list_type: Slice) -> None:
        super().__init__(name)
        self.list_type = list_type

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, dict):
            decoder.nested(SCHEMA, value)
        elif isinstance(value, list):
            decoder.nested(self.list_type, value)

    def canonical(self, value: Any) -> Any:
        if isinstance(value, dict):
            return SCHEMA.canonical(value)
        return self.list_type.canonical(value) if isinstance(value, list) and value else None


class ExplicitSlice(Slice):
    """List in a version or its schema. Validation distinguishes an empty one from a missing one; `compact` removes it before storage."""

    __slots__ = ()

    def empty(self, value: Any) -> bool:
        return value is None


class ExplicitMap(Map):
    """Map in a schema. Validation distinguishes an empty one from a missing one."""

    __slots__ = ()

    def empty(self, value: Any) -> bool:
        return value is None


class NonNilPointer(Pointer):
    """Pointer to a type that encodes some non-nil values as null."""

    __slots__ = ()

    def canonical(self, value: Any) -> Any:
        return NIL if value is None else self.to.canonical(value)

    def empty(self, value: Any) -> bool:
        return value is NIL


NIL: Final = object()

STRING: Final = String()
STRINGS: Final = Slice(STRING)
BOOL: Final = Bool()
INT64: Final = Int(64)
JSON: Final = Raw("v1.JSON")
SCHEMA: Final = Struct("JSONSchemaProps")
SCHEMA_OR_ARRAY: Final = SchemaOrList("v1.JSONSchemaPropsOrArray", Slice(SCHEMA))
_TEXT: Final = Pointer(STRING)
_FLAG: Final = Pointer(BOOL)

RULE: Final = Struct("ValidationRule").define(
    Field("rule", STRING, omit_empty=False),
    Field("message", STRING),
    Field("messageExpression", STRING),
    Field("reason", Pointer(String("v1.FieldValueErrorReason"))),
    Field("fieldPath", STRING),
    Field("optionalOldSelf", _FLAG),
)

_TYPES: Final[Mapping[Kind, GoType]] = {
    "text": STRING,
    "optional text": _TEXT,
    "url": String("v1.JSONSchemaURL"),
    "flag": BOOL,
    "optional flag": _FLAG,
    "count": Pointer(INT64),
    "number": Pointer(Float()),
    "value": JSON,
    "values": ExplicitSlice(JSON),
    "names": ExplicitSlice(STRING),
    "rules": ExplicitSlice(RULE, "v1.ValidationRules"),
    "docs": Pointer(Struct("ExternalDocumentation").define(Field("description", STRING), Field("url", STRING))),
    "schema": Pointer(SCHEMA),
    "schema or bool": Pointer(SchemaOrBool("v1.JSONSchemaPropsOrBool")),
    "schema or schemas": NonNilPointer(SCHEMA_OR_ARRAY),
    "schemas": ExplicitSlice(SCHEMA),
    "named schemas": ExplicitMap(SCHEMA),
    "definitions": ExplicitMap(SCHEMA, "v1.JSONSchemaDefinitions"),
    "dependencies": ExplicitMap(SchemaOrList("v1.JSONSchemaPropsOrStringArray", STRINGS), "v1.JSONSchemaDependencies"),
}
SCHEMA.define(*(Field(each.name, _TYPES[each.kind]) for each in sorted(KEYWORDS, key=attrgetter("number"))))

NAMES: Final = Struct("CustomResourceDefinitionNames").define(
    Field("plural", STRING, omit_empty=False),
    Field("singular", STRING),
    Field("shortNames", STRINGS),
    Field("kind", STRING, omit_empty=False),
    Field("listKind", STRING),
    Field("categories", STRINGS),
)


def column(path: str) -> Struct:
    """Return the type CustomResourceColumnDefinition, whose path field is called differently in v1 and v1beta1."""
    return Struct("CustomResourceColumnDefinition").define(
        Field("name", STRING, omit_empty=False),
        Field("type", STRING, omit_empty=False),
        Field("format", STRING),
        Field("description", STRING),
        Field("priority", Int(32)),
        Field(path, STRING, omit_empty=False),
    )


SCALE: Final = Struct("CustomResourceSubresourceScale").define(
    Field("specReplicasPath", STRING, omit_empty=False),
    Field("statusReplicasPath", STRING, omit_empty=False),
    Field("labelSelectorPath", _TEXT),
)

SUBRESOURCES: Final = Struct("CustomResourceSubresources").define(
    Field("status", Pointer(Struct("CustomResourceSubresourceStatus"))),
    Field("scale", Pointer(SCALE)),
)

SELECTABLE: Final = Struct("SelectableField").define(Field("jsonPath", STRING, omit_empty=False))


def validation(schema: GoType) -> Struct:
    """Return the type CustomResourceValidation with a given schema type."""
    return Struct("CustomResourceValidation").define(Field("openAPIV3Schema", schema))


def version(schema: GoType, column: Struct) -> Struct:
    """Return the type CustomResourceDefinitionVersion with given schema and column types."""
    return Struct("CustomResourceDefinitionVersion").define(
        Field("name", STRING, omit_empty=False),
        Field("served", BOOL, omit_empty=False),
        Field("storage", BOOL, omit_empty=False),
        Field("deprecated", BOOL),
        Field("deprecationWarning", _TEXT),
        Field("schema", Pointer(validation(schema))),
        Field("subresources", Pointer(SUBRESOURCES)),
        Field("additionalPrinterColumns", ExplicitSlice(column)),
        Field("selectableFields", ExplicitSlice(SELECTABLE)),
    )


SERVICE: Final = Struct("ServiceReference").define(
    Field("namespace", STRING, omit_empty=False),
    Field("name", STRING, omit_empty=False),
    Field("path", _TEXT),
    Field("port", Pointer(Int(32))),
)

CLIENT: Final = Struct("WebhookClientConfig").define(Field("url", _TEXT), Field("service", Pointer(SERVICE)), Field("caBundle", Bytes()))

CONVERSION: Final = Struct("CustomResourceConversion").define(
    Field("strategy", String("v1.ConversionStrategyType"), omit_empty=False),
    Field(
        "webhook",
        Pointer(
            Struct("WebhookConversion").define(
                Field("clientConfig", Pointer(CLIENT)), Field("conversionReviewVersions", STRINGS, omit_empty=False)
            )
        ),
    ),
)


def spec(schema: GoType) -> Struct:
    """Return the type CustomResourceDefinitionSpec with a given schema type."""
    return Struct("CustomResourceDefinitionSpec").define(
        Field("group", STRING, omit_empty=False),
        Field("names", NAMES, omit_empty=False),
        Field("scope", String("v1.ResourceScope"), omit_empty=False),
        Field("versions", Slice(version(schema, column("jsonPath"))), omit_empty=False),
        Field("conversion", Pointer(CONVERSION)),
        Field("preserveUnknownFields", BOOL),
    )


SPEC: Final = spec(Pointer(SCHEMA))

CONDITION: Final = Struct("CustomResourceDefinitionCondition").define(
    Field("type", String("v1.CustomResourceDefinitionConditionType"), omit_empty=False),
    Field("status", String("v1.ConditionStatus"), omit_empty=False),
    Field("lastTransitionTime", Time(), omit_empty=False),
    Field("reason", STRING),
    Field("message", STRING),
    Field("observedGeneration", INT64),
)

STATUS: Final = Struct("CustomResourceDefinitionStatus").define(
    Field("conditions", Slice(CONDITION), omit_empty=False),
    Field("acceptedNames", NAMES, omit_empty=False),
    Field("storedVersions", STRINGS, omit_empty=False),
    Field("observedGeneration", INT64),
)


def definition(spec: Struct) -> Struct:
    """Return the type CustomResourceDefinition with a given spec type."""
    return Struct("CustomResourceDefinition").define(
        Field("kind", STRING, embedded=("TypeMeta",)),
        Field("apiVersion", STRING, embedded=("TypeMeta",)),
        Field("metadata", OBJECT_META, omit_empty=False),
        Field("spec", spec, omit_empty=False),
        Field("status", STATUS, omit_empty=False),
    )


DEFINITION: Final = definition(SPEC)
