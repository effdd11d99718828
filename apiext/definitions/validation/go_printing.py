"""Bad values in the reference's error messages: its internal types have no JSON names, so Go's field names appear.

Mirrors the structs of apiextensions-apiserver pkg/apis/apiextensions/types*.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.meta import json_codec
from apiext.meta.field import Printed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.definitions.validation.schemas import Props
    from apiext.meta.json_codec import Object

_RULE: Final = (
    ("Rule", "rule", ""),
    ("Message", "message", ""),
    ("MessageExpression", "messageExpression", ""),
    ("Reason", "reason", None),
    ("FieldPath", "fieldPath", ""),
    ("OptionalOldSelf", "optionalOldSelf", None),
)
_COLUMN: Final = (
    ("Name", "name", ""),
    ("Type", "type", ""),
    ("Format", "format", ""),
    ("Description", "description", ""),
    ("Priority", "priority", 0),
    ("JSONPath", "JSONPath", ""),
)
_SCALE: Final = (
    ("SpecReplicasPath", "specReplicasPath", ""),
    ("StatusReplicasPath", "statusReplicasPath", ""),
    ("LabelSelectorPath", "labelSelectorPath", None),
)
_SCHEMA: Final = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)

ROOT_FIELDS: Final = tuple((go_name, name) for go_name, name, _ in _SCHEMA)
"""Go and JSON names of a schema's fields, in the order of the struct."""


def versions(items: Sequence[Object] | None) -> Printed | None:
    """Print spec.versions; None if it is null."""
    return None if items is None else _print([_version(item) for item in items])


def text(value: str) -> Printed:
    """Print a text whose Go type is a named type or a pointer: Go prints these as JSON."""
    return _print(value)


def schema(props: Props) -> Printed:
    """Print a JSONSchemaProps."""
    return _print(_to_go_schema(props))


def items_value(value: Any) -> Printed:
    """Print the `items` of a schema."""
    return _print(_or_array(value))


def _print(value: Any) -> Printed:
    return Printed(json_codec.dumps(value, sort_keys=False).decode())


def _struct(table: tuple[tuple[str, str, Any], ...], value: Props) -> Object:
    return {go_name: value.get(name, zero) for go_name, name, zero in table}


def _version(version: Object) -> Object:
    validation, subresources = version.get("schema"), version.get("subresources")
    columns, selectable = version.get("additionalPrinterColumns"), version.get("selectableFields")
    return {
        "Name": version["name"],
        "Served": version["served"],
        "Storage": version["storage"],
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if validation is None else {"OpenAPIV3Schema": _to_go_schema(validation.get("openAPIV3Schema"))},
        "Subresources": None if subresources is None else _subresources(subresources),
        "AdditionalPrinterColumns": columns and [_struct(_COLUMN, column) for column in columns],
        "SelectableFields": selectable and [{"JSONPath": item["jsonPath"]} for item in selectable],
    }


def _subresources(subresources: Object) -> Object:
    scale = subresources.get("scale")
    return {"Status": subresources.get("status"), "Scale": None if scale is None else _struct(_SCALE, scale)}


def _to_go_schema(props: Props | None) -> Object | None:
    if props is None:
        return None
    printed = _struct(_SCHEMA, props)
    for go_name, name, _ in _SCHEMA:
        if name in props and name in _CONVERT:
            printed[go_name] = _CONVERT[name](props[name])
    return printed


def _to_go_schemas(items: list[Props] | None) -> Any:
    return items and [_to_go_schema(item) for item in items]


def _named(items: dict[str, Props] | None) -> Any:
    return items and {name: _to_go_schema(items[name]) for name in sorted(items)}


def _or_array(value: Any) -> Object:
    return {
        "Schema": _to_go_schema(value) if isinstance(value, dict) else None,
        "JSONSchemas": _to_go_schemas(value) if isinstance(value, list) else None,
    }


def _or_bool(value: Any) -> Object | None:
    if value is None:
        return None
    return {"Allows": value is not False, "Schema": _to_go_schema(value) if isinstance(value, dict) else None}


def _dependencies(items: dict[str, Any] | None) -> Any:
    return items and {
        name: {
            "Schema": _to_go_schema(items[name]) if isinstance(items[name], dict) else None,
            "Property": items[name] if isinstance(items[name], list) else None,
        }
        for name in sorted(items)
    }


def _docs(docs: Object) -> Object:
    return {"Description": docs.get("description", ""), "URL": docs.get("url", "")}


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "items": _or_array,
    "allOf": _to_go_schemas,
    "oneOf": _to_go_schemas,
    "anyOf": _to_go_schemas,
    "not": _to_go_schema,
    "properties": _named,
    "additionalProperties": _or_bool,
    "patternProperties": _named,
    "dependencies": _dependencies,
    "additionalItems": _or_bool,
    "definitions": _named,
    "externalDocs": _docs,
    "x-kubernetes-validations": lambda rules: rules and [_struct(_RULE, rule) for rule in rules],
}
