"""Go types of the v1 CustomResourceDefinition (apiextensions-apiserver pkg/apis/apiextensions/v1/types*.go).

Fields have the order of the Go structs, in which they are encoded.
"""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.struct_type import Field, Struct
from apiext.base.meta.golang.type_model import Bool, DecodeError, Decoder, Float, GoType, Int, Map, Pointer, Raw, Slice, String
from apiext.base.meta.golang.value_types import BYTES
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.schema.keywords import KEYWORDS, Kind


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
SCHEMA_OR_BOOL: Final = SchemaOrBool("v1.JSONSchemaPropsOrBool")
SCHEMA_OR_ARRAY: Final = SchemaOrList("v1.JSONSchemaPropsOrArray", Slice(SCHEMA))
SCHEMA_OR_STRINGS: Final = SchemaOrList("v1.JSONSchemaPropsOrStringArray", STRINGS)
_TEXT: Final = Pointer(STRING)
_FLAG: Final = Pointer(BOOL)

RULE: Final = struct(
    "ValidationRule",
    "1 rule!, 2 message, 3 messageExpression, 4 reason *v1.FieldValueErrorReason, 5 fieldPath, 6 optionalOldSelf *bool",
)

_TYPES: Final[Mapping[Kind, GoType]] = {
    "text": STRING,
    "optional text": _TEXT,
    "url": String("v1.JSONSchemaURL"),
    "flag": BOOL,
    "optional flag": _FLAG,
    "count": Pointer(INT64),
    "number": Pointer(Float()),
    "value": Pointer(JSON),
    "values": ExplicitSlice(JSON),
    "names": ExplicitSlice(STRING),
    "rules": ExplicitSlice(RULE, "v1.ValidationRules"),
    "docs": Pointer(struct("ExternalDocumentation", "1 description, 2 url")),
    "schema": Pointer(SCHEMA),
    "schema or bool": Pointer(SCHEMA_OR_BOOL),
    "schema or schemas": NonNilPointer(SCHEMA_OR_ARRAY),
    "schemas": ExplicitSlice(SCHEMA),
    "named schemas": ExplicitMap(SCHEMA),
    "definitions": ExplicitMap(SCHEMA, "v1.JSONSchemaDefinitions"),
    "dependencies": ExplicitMap(SCHEMA_OR_STRINGS, "v1.JSONSchemaDependencies"),
}
SCHEMA.define(*(Field(each.name, _TYPES[each.kind], number=each.number) for each in sorted(KEYWORDS, key=attrgetter("number"))))

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
