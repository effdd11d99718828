"""The shape of schemas: the keywords that decide what reads and applies do to a valid object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.lab.judgement.judged_definition import JudgedDefinition

_VALUES: Final = frozenset(
    {
        "type",
        "format",
        "nullable",
        "default",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-list-map-keys",
    }
)


def shape(schema: Any) -> Any:
    """Return a schema without the keywords that only validate, and without descriptions."""
    if not isinstance(schema, Mapping):
        return schema
    found = {name: value for name, value in schema.items() if name in _VALUES}
    for name in ("items", "additionalProperties"):
        if name in schema:
            found[name] = shape(schema[name])
    if "properties" in schema:
        found["properties"] = {name: shape(child) for name, child in schema["properties"].items()}
    return found


def differing_versions(old: JudgedDefinition, new: JudgedDefinition, *, scopes: bool = False) -> frozenset[str]:
    """Return the versions that only one definition has, or that differ in the shape of the schema and, with `scopes`, endpoints."""
    one, other = _shapes(old, scopes=scopes), _shapes(new, scopes=scopes)
    return frozenset(name for name in one.keys() | other.keys() if name not in one or name not in other or one[name] != other[name])


def _shapes(judged: JudgedDefinition, *, scopes: bool) -> dict[str, tuple[Any, ...]]:
    spec = judged.definition.object["spec"]
    common = spec.get("preserveUnknownFields", False), judged.definition.names.kind
    return {
        version["name"]: (
            *common,
            shape((version.get("schema") or {}).get("openAPIV3Schema")),
            *((version["served"], version.get("subresources")) if scopes else ()),
        )
        for version in spec["versions"]
    }
