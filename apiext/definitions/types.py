"""Go types of the v1 CustomResourceDefinition (apiextensions-apiserver pkg/apis/apiextensions/v1/types*.go).

Fields have the order of the Go structs, in which they are encoded.
"""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

import base64
from typing import Any, Final

from apiext.meta.golang.struct_table import struct
from apiext.meta.golang.type_model import Bool, DecodeError, Decoder, Field, Float, GoType, Int, Map, Pointer, Raw, Slice, String, Struct
from apiext.meta.objectmeta.canonical import OBJECT_META


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

BYTES: Final = Bytes()
STRING: Final = String()
STRINGS: Final = Slice(STRING)
BOOL: Final = Bool()
INT64: Final = Int(64)
JSON: Final = Raw("v1.JSON")
SCHEMA: Final = Struct("JSONSchemaProps")
SCHEMA_OR_ARRAY: Final = SchemaOrList("v1.JSONSchemaPropsOrArray", Slice(SCHEMA))
_COUNT: Final = Pointer(INT64)
_NUMBER: Final = Pointer(Float())
_TEXT: Final = Pointer(STRING)
_FLAG: Final = Pointer(BOOL)
_NAMED_SCHEMAS: Final = ExplicitMap(SCHEMA)
_LISTED_SCHEMAS: Final = ExplicitSlice(SCHEMA)
_NAMES: Final = ExplicitSlice(STRING)
_OR_BOOL: Final = Pointer(SchemaOrBool("v1.JSONSchemaPropsOrBool"))

RULE: Final = Struct("ValidationRule").define(
    Field("rule", STRING, omit_empty=False),
    Field("message", STRING),
    Field("messageExpression", STRING),
    Field("reason", Pointer(String("v1.FieldValueErrorReason"))),
    Field("fieldPath", STRING),
    Field("optionalOldSelf", _FLAG),
)

SCHEMA.define(
    Field("id", STRING),
    Field("$schema", String("v1.JSONSchemaURL")),
    Field("$ref", _TEXT),
    Field("description", STRING),
    Field("type", STRING),
    Field("format", STRING),
    Field("title", STRING),
    Field("default", JSON),
    Field("maximum", _NUMBER),
    Field("exclusiveMaximum", BOOL),
    Field("minimum", _NUMBER),
    Field("exclusiveMinimum", BOOL),
    Field("maxLength", _COUNT),
    Field("minLength", _COUNT),
    Field("pattern", STRING),
    Field("maxItems", _COUNT),
    Field("minItems", _COUNT),
    Field("uniqueItems", BOOL),
    Field("multipleOf", _NUMBER),
    Field("enum", ExplicitSlice(JSON)),
    Field("maxProperties", _COUNT),
    Field("minProperties", _COUNT),
    Field("required", _NAMES),
    Field("items", NonNilPointer(SCHEMA_OR_ARRAY)),
    Field("allOf", _LISTED_SCHEMAS),
    Field("oneOf", _LISTED_SCHEMAS),
    Field("anyOf", _LISTED_SCHEMAS),
    Field("not", Pointer(SCHEMA)),
    Field("properties", _NAMED_SCHEMAS),
    Field("additionalProperties", _OR_BOOL),
    Field("patternProperties", _NAMED_SCHEMAS),
    Field("dependencies", ExplicitMap(SchemaOrList("v1.JSONSchemaPropsOrStringArray", STRINGS), "v1.JSONSchemaDependencies")),
    Field("additionalItems", _OR_BOOL),
    Field("definitions", ExplicitMap(SCHEMA, "v1.JSONSchemaDefinitions")),
    Field(
        "externalDocs",
        Pointer(Struct("ExternalDocumentation").define(Field("description", STRING), Field("url", STRING))),
    ),
    Field("example", JSON),
    Field("nullable", BOOL),
    Field("x-kubernetes-preserve-unknown-fields", _FLAG),
    Field("x-kubernetes-embedded-resource", BOOL),
    Field("x-kubernetes-int-or-string", BOOL),
    Field("x-kubernetes-list-map-keys", _NAMES),
    Field("x-kubernetes-list-type", _TEXT),
    Field("x-kubernetes-map-type", _TEXT),
    Field("x-kubernetes-validations", ExplicitSlice(RULE, "v1.ValidationRules")),
)

NAMES: Final = struct(
    "CustomResourceDefinitionNames", "1 plural!, 2 singular, 3 shortNames []string, 4 kind!, 5 listKind, 6 categories []string"
)
SCALE: Final = struct("CustomResourceSubresourceScale", "1 specReplicasPath!, 2 statusReplicasPath!, 3 labelSelectorPath *string")
SUBRESOURCES: Final = struct(
    "CustomResourceSubresources",
    "1 status *CustomResourceSubresourceStatus, 2 scale *CustomResourceSubresourceScale",
    struct("CustomResourceSubresourceStatus", ""),
    SCALE,
)
SELECTABLE: Final = struct("SelectableField", "1 jsonPath!")


def column(path: str) -> Struct:
    """Return the type CustomResourceColumnDefinition, whose path field is called differently in v1 and v1beta1."""
    return struct("CustomResourceColumnDefinition", f"1 name!, 2 type!, 3 format, 4 description, 5 priority int32, 6 {path}!")


def validation(schema: GoType) -> Struct:
    """Return the type CustomResourceValidation with a given schema type."""
    return Struct("CustomResourceValidation").define(Field("openAPIV3Schema", schema, number=1))


def version(schema: GoType, column: Struct) -> Struct:
    """Return the type CustomResourceDefinitionVersion with given schema and column types."""
    return struct(
        "CustomResourceDefinitionVersion",
        "1 name!, 2 served! bool, 3 storage! bool, 7 deprecated bool, 8 deprecationWarning *string, 4 schema *CustomResourceValidation,"
        "5 subresources *CustomResourceSubresources, 6 additionalPrinterColumns []v1.CustomResourceColumnDefinition,"
        "9 selectableFields []v1.SelectableField",
        validation(schema),
        SUBRESOURCES,
        ExplicitSlice(column),
        ExplicitSlice(SELECTABLE),
    )


SERVICE: Final = struct("ServiceReference", "1 namespace!, 2 name!, 3 path *string, 4 port *int32")
CLIENT: Final = struct(
    "WebhookClientConfig",
    "3 url *string, 1 service *ServiceReference, 2 caBundle []uint8",
    SERVICE,
    BYTES,
)
CONVERSION: Final = struct(
    "CustomResourceConversion",
    "1 strategy! v1.ConversionStrategyType, 2 webhook *WebhookConversion",
    struct("WebhookConversion", "2 clientConfig *WebhookClientConfig, 3 conversionReviewVersions! []string", CLIENT),
)


def spec(schema: GoType) -> Struct:
    """Return the type CustomResourceDefinitionSpec with a given schema type."""
    return struct(
        "CustomResourceDefinitionSpec",
        "1 group!, 3 names! CustomResourceDefinitionNames, 4 scope! v1.ResourceScope, 7 versions! []CustomResourceDefinitionVersion,"
        "9 conversion *CustomResourceConversion, 10 preserveUnknownFields bool",
        NAMES,
        version(schema, column("jsonPath")),
        CONVERSION,
    )


SPEC: Final = spec(Pointer(SCHEMA))
CONDITION: Final = struct(
    "CustomResourceDefinitionCondition",
    "1 type! v1.CustomResourceDefinitionConditionType, 2 status! v1.ConditionStatus, 3 lastTransitionTime! Time, 4 reason, 5 message,"
    "6 observedGeneration int64",
)
STATUS: Final = struct(
    "CustomResourceDefinitionStatus",
    "1 conditions! []CustomResourceDefinitionCondition, 2 acceptedNames! CustomResourceDefinitionNames, 3 storedVersions! []string,"
    "4 observedGeneration int64",
    CONDITION,
    NAMES,
)


def definition(spec: Struct) -> Struct:
    """Return the type CustomResourceDefinition with a given spec type."""
    return struct(
        "CustomResourceDefinition",
        "TypeMeta, 1 metadata! ObjectMeta, 2 spec! CustomResourceDefinitionSpec, 3 status! CustomResourceDefinitionStatus",
        OBJECT_META,
        spec,
        STATUS,
    )


DEFINITION: Final = definition(SPEC)
