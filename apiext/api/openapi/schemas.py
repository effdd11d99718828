"""Converts the structural schema of a custom resource to OpenAPI.

Mirrors apiextensions-apiserver pkg/apiserver/schema (kubeopenapi.go, unfold.go), pkg/controller/openapi/v2/conversion.go
and buildKubeNative of pkg/controller/openapi/builder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apiext.schema.keywords import JUNCTORS, of_kind
from apiext.schema.model import Props

Schema = dict[str, Any]

_TEXTS: Final = of_kind("text", structural=True)
_FLAGS: Final = of_kind("flag", "optional flag", structural=True)
_PRESENT: Final = of_kind("count", "number", "value", "optional text", structural=True)
_LISTS: Final = of_kind("names", "values", "rules", structural=True)
_EITHER: Final[list[Props]] = [{"type": "integer"}, {"type": "string"}]

API_VERSION: Final[Schema] = {"description": "Group and version of this object's schema.", "type": "string"}
KIND: Final[Schema] = {"description": "The type of this object, in CamelCase.", "type": "string"}


def v3_schema(props: Props) -> Schema:
    """Convert a node to OpenAPI v3; int-or-string becomes anyOf."""
    schema = _fields(props)
    _add_children(schema, props, v3_schema)
    _add_junctors(schema, props)
    if schema.get("x-kubernetes-int-or-string"):
        _unfold(schema, props)
    return schema


def v2_schema(props: Props) -> Schema:
    """Convert a node to OpenAPI v2, without fields that v2 or kubectl does not support."""
    node = {key: member for key, member in props.items() if key not in JUNCTORS and key not in {"not", "default"}}
    preserve = node.get("x-kubernetes-preserve-unknown-fields") is True
    nullable = node.pop("nullable", False)
    if nullable or preserve:
        # kubectl rejects unknown fields beside known ones
        node["items"] = node["properties"] = None
    if nullable or (node.get("type") == "array" and not node.get("items")) or (node.get("type") == "object" and preserve):
        node["type"] = ""
    children: Mapping[str, Props] = node.get("properties") or {}
    optional = {name for name, child in children.items() if child.get("nullable") is True}
    if optional:
        node["required"] = [name for name in node.get("required") or () if name not in optional]
    additional = node.get("additionalProperties")
    if isinstance(additional, Mapping) and additional.get("nullable") is True:
        node["required"] = None
    schema = _fields(node)
    _add_children(schema, node, v2_schema)
    return schema


def _nested(props: Props) -> Schema:
    """Convert a node inside allOf, anyOf, oneOf or not."""
    schema = _fields(props)
    # such a node has no additionalProperties but false, which is not published
    _add_children(schema, {key: member for key, member in props.items() if key != "additionalProperties"}, _nested)
    _add_junctors(schema, props)
    return schema


def _fields(props: Props) -> Schema:
    """Return the non-empty fields of a node without its children."""
    schema: Schema = {key: props[key] for key in _TEXTS if props.get(key)}
    schema |= {key: True for key in _FLAGS if props.get(key) is True}
    schema |= {key: props[key] for key in _PRESENT if props.get(key) is not None}
    schema |= {key: props[key] for key in _LISTS if props.get(key)}
    if props.get("externalDocs") is not None:
        schema["externalDocs"] = {key: text for key, text in props["externalDocs"].items() if text}
    return schema


def _add_children(schema: Schema, props: Props, convert: Callable[[Props], Schema]) -> None:
    if props.get("items") is not None:
        schema["items"] = convert(props["items"])
    if props.get("properties"):
        schema["properties"] = {name: convert(child) for name, child in props["properties"].items()}
    additional = props.get("additionalProperties")
    if additional is not None:
        schema["additionalProperties"] = convert(additional) if isinstance(additional, Mapping) else additional


def _add_junctors(schema: Schema, props: Props) -> None:
    for key in JUNCTORS:
        if props.get(key):
            schema[key] = [_nested(clause) for clause in props[key]]
    if props.get("not") is not None:
        schema["not"] = _nested(props["not"])


def _unfold(schema: Schema, props: Props) -> None:
    """Add anyOf integer or string, unless the schema has it."""
    if props.get("anyOf") == _EITHER or (props.get("allOf") and props["allOf"][0].get("anyOf") == _EITHER):
        return
    either = [dict(clause) for clause in _EITHER]
    if "anyOf" not in schema:
        schema["anyOf"] = either
    else:
        schema["allOf"] = [{"anyOf": either}, *schema.get("allOf", ())]


def add_object_fields(schema: Schema, object_meta: Schema, *, v2: bool) -> None:
    """Add apiVersion, kind and metadata to the schema of a kind and of its embedded resources."""
    properties = schema.setdefault("properties", {})
    properties |= {"metadata": object_meta, "apiVersion": API_VERSION, "kind": KIND}
    _add_embedded(schema, object_meta, v2=v2)


def _add_embedded(schema: Schema, object_meta: Schema, *, v2: bool) -> None:
    children = list(schema.get("properties", {}).values())
    children += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for child in children:
        _add_embedded(child, object_meta, v2=v2)
    if v2 and schema.get("x-kubernetes-preserve-unknown-fields"):
        # kubectl rejects unknown fields beside known ones
        return
    if schema.get("x-kubernetes-embedded-resource"):
        properties = schema.setdefault("properties", {})
        properties |= {"apiVersion": API_VERSION, "kind": KIND, "metadata": object_meta}
        required = schema.get("required", [])
        schema["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
