"""The v1 CustomResourceDefinition as its Go type has it (apiextensions-apiserver pkg/apis/apiextensions/v1/types*.go).

Fields stand in the order of the structs, which is the order in which they are written.
"""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from apiext.meta.go_times import Time
from apiext.meta.go_types import Bool, DecodeError, Decoder, Field, Float, GoType, Int, Map, Pointer, Raw, Slice, String, Struct
from apiext.meta.objectmeta import MANAGED_FIELDS_ENTRY, OBJECT_META


class Bytes(GoType):
    """[]byte, base64 in JSON."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("[]uint8")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if isinstance(value, list):
            _OCTETS.check(value, decoder)
            return
        if not isinstance(value, str):
            decoder.mismatch(value, self.name)
            return
        try:
            _decode_base64(value)
        except (ValueError, binascii.Error):
            decoder.note(DecodeError(f"illegal base64 data at input byte {_bad_base64(value)}"))

    def canonical(self, value: Any) -> Any:
        if isinstance(value, list):
            return base64.b64encode(bytes(_OCTETS.canonical(value))).decode()
        try:
            return base64.b64encode(_decode_base64(value)).decode() if isinstance(value, str) else None
        except (ValueError, binascii.Error):
            return None


_OCTETS: Final = Slice(Int(8, signed=False))


def _decode_base64(text: str) -> bytes:
    plain = text.replace("\n", "").replace("\r", "")
    return base64.b64decode(plain.encode(), validate=True)


def _bad_base64(text: str) -> int:
    """The position at which Go's decoder stops: the first byte outside the alphabet, or the end of what is cut short."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
    data = text.encode()
    bad = next((index for index, byte in enumerate(data) if byte not in alphabet), None)
    return bad if bad is not None else len(data) - len(data) % 4


class SchemaOrBool(GoType):
    """JSONSchemaPropsOrBool."""

    __slots__ = ()

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, dict):
            decoder.nested(SCHEMA, value)
        elif not isinstance(value, bool):
            raise DecodeError("boolean or JSON schema expected")

    def canonical(self, value: Any) -> Any:
        return SCHEMA.canonical(value) if isinstance(value, dict) else value is True


class SchemaOrList(GoType):
    """JSONSchemaPropsOrArray and JSONSchemaPropsOrStringArray; whatever else is given counts as neither, and is written as null."""

    __slots__ = ("_list",)

    def __init__(self, name: str, list_: Slice) -> None:
        super().__init__(name)
        self._list = list_

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, dict):
            decoder.nested(SCHEMA, value)
        elif isinstance(value, list):
            decoder.nested(self._list, value)

    def canonical(self, value: Any) -> Any:
        if isinstance(value, dict):
            return SCHEMA.canonical(value)
        return self._list.canonical(value) if isinstance(value, list) and value else None


class Lists(Slice):
    """A list of a version or its schema, which matters to validation where it is there and empty; `compact` takes it out afterwards."""

    __slots__ = ()

    def empty(self, value: Any) -> bool:
        return value is None


class Maps(Map):
    """A map in a schema, which matters where it is empty as a list does."""

    __slots__ = ()

    def empty(self, value: Any) -> bool:
        return value is None


class Present(Pointer):
    """A pointer to a type that writes null for some of its values, which are not nil."""

    __slots__ = ()

    def canonical(self, value: Any) -> Any:
        return NOTHING if value is None else self.to.canonical(value)

    def empty(self, value: Any) -> bool:
        return value is NOTHING


NOTHING: Final = object()

STRING: Final = String()
STRINGS: Final = Slice(STRING)
BOOL: Final = Bool()
INT64: Final = Int(64)
JSON: Final = Raw("v1.JSON")
SCHEMA: Final = Struct("JSONSchemaProps")
SCHEMAS: Final = Slice(SCHEMA)
_COUNT: Final = Pointer(INT64)
_NUMBER: Final = Pointer(Float())
_TEXT: Final = Pointer(STRING)
_FLAG: Final = Pointer(BOOL)
_NAMED_SCHEMAS: Final = Maps(SCHEMA)
_LISTED_SCHEMAS: Final = Lists(SCHEMA)
_NAMES: Final = Lists(STRING)
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
    Field("enum", Lists(JSON)),
    Field("maxProperties", _COUNT),
    Field("minProperties", _COUNT),
    Field("required", _NAMES),
    Field("items", Present(SchemaOrList("v1.JSONSchemaPropsOrArray", SCHEMAS))),
    Field("allOf", _LISTED_SCHEMAS),
    Field("oneOf", _LISTED_SCHEMAS),
    Field("anyOf", _LISTED_SCHEMAS),
    Field("not", Pointer(SCHEMA)),
    Field("properties", _NAMED_SCHEMAS),
    Field("additionalProperties", _OR_BOOL),
    Field("patternProperties", _NAMED_SCHEMAS),
    Field("dependencies", Maps(SchemaOrList("v1.JSONSchemaPropsOrStringArray", STRINGS), "v1.JSONSchemaDependencies")),
    Field("additionalItems", _OR_BOOL),
    Field("definitions", Maps(SCHEMA, "v1.JSONSchemaDefinitions")),
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
    Field("x-kubernetes-validations", Lists(RULE, "v1.ValidationRules")),
)

NAMES: Final = Struct("CustomResourceDefinitionNames").define(
    Field("plural", STRING, omit_empty=False),
    Field("singular", STRING),
    Field("shortNames", STRINGS),
    Field("kind", STRING, omit_empty=False),
    Field("listKind", STRING),
    Field("categories", STRINGS),
)


def column(path: str) -> Struct:
    """CustomResourceColumnDefinition; versions differ in the name of the path."""
    return Struct("CustomResourceColumnDefinition").define(
        Field("name", STRING, omit_empty=False),
        Field("type", STRING, omit_empty=False),
        Field("format", STRING),
        Field("description", STRING),
        Field("priority", Int(32)),
        Field(path, STRING, omit_empty=False),
    )


COLUMN: Final = column("jsonPath")

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
    """CustomResourceValidation with the given type of schema."""
    return Struct("CustomResourceValidation").define(Field("openAPIV3Schema", schema))


def version(schema: GoType, column: Struct) -> Struct:
    """CustomResourceDefinitionVersion with the given types of schema and column."""
    return Struct("CustomResourceDefinitionVersion").define(
        Field("name", STRING, omit_empty=False),
        Field("served", BOOL, omit_empty=False),
        Field("storage", BOOL, omit_empty=False),
        Field("deprecated", BOOL),
        Field("deprecationWarning", _TEXT),
        Field("schema", Pointer(validation(schema))),
        Field("subresources", Pointer(SUBRESOURCES)),
        Field("additionalPrinterColumns", Lists(column)),
        Field("selectableFields", Lists(SELECTABLE)),
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

SPEC: Final = Struct("CustomResourceDefinitionSpec").define(
    Field("group", STRING, omit_empty=False),
    Field("names", NAMES, omit_empty=False),
    Field("scope", String("v1.ResourceScope"), omit_empty=False),
    Field("versions", Slice(version(Pointer(SCHEMA), COLUMN)), omit_empty=False),
    Field("conversion", Pointer(CONVERSION)),
    Field("preserveUnknownFields", BOOL),
)

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

_MANAGED: Final = Struct("ManagedFieldsEntry").define(
    *(field for field in MANAGED_FIELDS_ENTRY.by_name.values() if field.name not in ("fieldsV1", "subresource")),
    Field("fieldsV1", Raw("v1.FieldsV1", keep_order=True)),
    Field("subresource", STRING),
)

METADATA: Final = Struct("ObjectMeta").define(
    *(field for field in OBJECT_META.by_name.values() if field.name != "managedFields"),
    # Kept as text by the reference: its members are written in the order in which they came.
    Field("managedFields", Slice(_MANAGED)),
)


def definition(spec: Struct) -> Struct:
    """CustomResourceDefinition with the given type of spec."""
    return Struct("CustomResourceDefinition").define(
        Field("kind", STRING, embedded=("TypeMeta",)),
        Field("apiVersion", STRING, embedded=("TypeMeta",)),
        Field("metadata", METADATA, omit_empty=False),
        Field("spec", spec, omit_empty=False),
        Field("status", STATUS, omit_empty=False),
    )


DEFINITION: Final = definition(SPEC)
