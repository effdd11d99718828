"""Merge types of built-in kinds, from their OpenAPI definitions.

Mirrors kube-openapi pkg/schemaconv (openapi.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
    from collections.abc import Mapping

_PREFIX: Final = "#/components/schemas/"
_SCALARS: Final = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_TEXT_FORMATS: Final = ("", "byte")
"""Formats that merging treats as strings; values of other formats are not checked."""


class OpenAPITypes:
    """The merge types of definitions, always the same object for a name: definitions refer to each other."""

    def __init__(self, schemas: Mapping[str, dict[str, Any]]) -> None:
        self._schemas = schemas
        self._made: dict[str, MergeType] = {}

    def of(self, name: str) -> MergeType:
        """Return the merge type of a definition."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._convert(self._schemas[name])
        return found

    def _convert(self, schema: Mapping[str, Any]) -> MergeType:
        if "$ref" in schema:
            return self.of(schema["$ref"].removeprefix(_PREFIX))
        default = schema.get("default")
        if "allOf" in schema:
            same = self.of(schema["allOf"][0]["$ref"].removeprefix(_PREFIX))
            owner = schema.get("x-kubernetes-map-type")
            own_map = same.map.with_owner(atomic=owner == "atomic") if same.map is not None and owner else same.map
            return MergeType(same.scalar, same.list, own_map, default)
        kind = schema.get("type")
        if kind == "object":
            return MergeType(map=self._map(schema), default=default)
        if kind == "array":
            return MergeType(list=self._list(schema), default=default)
        if kind == "string":
            return MergeType(STRING if schema.get("format", "") in _TEXT_FORMATS else UNTYPED, default=default)
        return MergeType(_SCALARS.get(kind or "", UNTYPED), default=default) if kind or "oneOf" in schema else DEDUCED

    def _map(self, schema: Mapping[str, Any]) -> MapType:
        def make() -> tuple[dict[str, MergeType], MergeType | None]:
            fields = {name: self._convert(each) for name, each in schema.get("properties", {}).items()}
            other = schema.get("additionalProperties")
            return fields, self._convert(other) if other is not None else None if fields else DEDUCED

        return MapType(make, atomic=schema.get("x-kubernetes-map-type") == "atomic")

    def _list(self, schema: Mapping[str, Any]) -> ListType:
        def make() -> MergeType:
            return self._convert(schema["items"]) if "items" in schema else UNTYPED_ATOMIC

        kind = schema.get("x-kubernetes-list-type")
        return ListType(
            make, associative=kind in ("set", "map"), keys=schema.get("x-kubernetes-list-map-keys", ()) if kind == "map" else ()
        )
