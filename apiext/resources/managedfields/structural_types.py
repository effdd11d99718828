"""Merge types of structural schemas.

Mirrors kube-openapi pkg/schemaconv and the additions of apiextensions-apiserver pkg/controller/openapi/builder to a CRD's schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.scheduling.inline_work import current_work
from apiext.resources.managedfields.go_merge_types import OBJECT_META_TYPE
from apiext.resources.managedfields.merge_types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED,
    UNTYPED_ATOMIC,
    ListType,
    MapType,
    MergeType,
)

if TYPE_CHECKING:
    from apiext.schema.model import Structural

_SCALARS = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_STRUCTURE = frozenset(
    {"properties", "additionalProperties", "items", "default", "x-kubernetes-map-type", "x-kubernetes-embedded-resource"}
)
"""Without any of these keywords, a schema without a type allows any value."""
_FIELDS_OF_A_STEP = 2
"""Fields whose types a step makes."""
_TEXT_FORMATS = ("", "byte")
"""Formats that merging treats as strings. With any other format the type is not checked."""


def from_schema(schema: Structural | None, *, preserve: bool = False) -> MergeType:
    """Return the merge type of a whole custom resource.

    None stands for a version without a structural schema: maps merge by field, lists are atomic.
    `preserve` is the deprecated spec.preserveUnknownFields of the CRD.
    """
    if schema is None:
        return MergeType(map=MapType(lambda: ({}, DEDUCED)))
    return _convert(schema.as_resource(), preserve=preserve)


def _convert(schema: Structural, *, preserve: bool) -> MergeType:
    raw = schema.raw
    preserve = preserve or schema.preserve
    kind, default = raw.get("type") or "", schema.default
    if kind == "object":
        return MergeType(map=_map_type(schema, preserve=preserve), default=default)
    if kind == "array":
        return MergeType(list=_list_type(schema, preserve=preserve), default=default)
    if kind == "string":
        return MergeType(STRING if (raw.get("format") or "") in _TEXT_FORMATS else UNTYPED, default=default)
    if kind:
        return MergeType(_SCALARS.get(kind, UNTYPED), default=default)
    if not raw.keys() & _STRUCTURE:
        return DEDUCED
    return MergeType(UNTYPED, _list_type(schema, preserve=preserve), _map_type(schema, preserve=preserve), default)


def _map_type(schema: Structural, *, preserve: bool) -> MapType:
    def make() -> tuple[dict[str, MergeType], MergeType | None]:
        current_work().step(len(schema.properties) // _FIELDS_OF_A_STEP)
        fields = {name: _convert(child, preserve=preserve) for name, child in schema.properties.items()}
        if schema.embedded:
            fields |= {"apiVersion": MergeType(STRING), "kind": MergeType(STRING), "metadata": OBJECT_META_TYPE}
        return fields, _other_fields(schema, any_name=preserve or not fields, preserve=preserve)

    return MapType(make, atomic=schema.raw.get("x-kubernetes-map-type") == "atomic")


def _other_fields(schema: Structural, *, any_name: bool, preserve: bool) -> MergeType | None:
    """Return the type of undeclared fields. Without additionalProperties they have any type or are not allowed."""
    if schema.additional is not None:
        return _convert(schema.additional, preserve=preserve)
    allowed: Any = schema.raw.get("additionalProperties")
    return DEDUCED if (any_name if allowed is None else allowed) else None


def _list_type(schema: Structural, *, preserve: bool) -> ListType:
    def make() -> MergeType:
        return UNTYPED_ATOMIC if schema.items is None else _convert(schema.items, preserve=preserve)

    keys = schema.list_map_keys if schema.list_type == "map" else ()
    return ListType(make, associative=schema.list_type in ("set", "map"), keys=keys)
