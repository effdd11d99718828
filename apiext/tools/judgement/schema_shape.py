"""The shape of schemas: the keywords that decide what reads and applies do to a valid object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.resources.evaluation.compiled_definition import CompiledDefinition

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
_CHILDREN: Final = frozenset({"items", "additionalProperties", "properties"})


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


def extends(old: Any, new: Any, *, keeps_unknown: bool = False) -> bool:
    """Return whether the shape `new` is that of `old` with more properties, of which objects have none: they merge as before.

    A property with a default is none of these: objects that are stored in another version lack it, and applies, which set no defaults,
    are refused if it is required.

    `keeps_unknown`: they are shapes of the items of a list that preserves unknown fields.
    """
    if old == new:
        return True
    if not isinstance(old, dict) or not isinstance(new, dict):
        return False
    one, other = ({name: value for name, value in each.items() if name not in _CHILDREN} for each in (old, new))
    keeps_unknown = keeps_unknown or old.get("x-kubernetes-preserve-unknown-fields", False)
    if one != other or not extends(old.get("items"), new.get("items"), keeps_unknown=keeps_unknown):
        return False
    if not extends(old.get("additionalProperties"), new.get("additionalProperties")):
        return False
    before, after = old.get("properties") or {}, new.get("properties") or {}
    if not before.keys() <= after.keys() or not all(extends(child, after[name]) for name, child in before.items()):
        return False
    added = after.keys() - before.keys()
    # where any field is allowed, an object may have one that now gets a type
    return not added or not (keeps_unknown or not before or any("default" in after[name] for name in added))


def versions_that_merge_differently(old: CompiledDefinition, new: CompiledDefinition) -> frozenset[str]:
    """Return the versions whose objects, or applies to them, may merge differently under the new definition."""
    one, other = _shapes(old, scopes=True), _shapes(new, scopes=True)

    def is_same(name: str) -> bool:
        if name not in one or name not in other:
            return False
        before, after = one[name], other[name]
        # no field is pruned or hidden by an extension, unless all fields are preserved
        return before == after or (
            before[:2] == after[:2] == (False, before[1]) and extends(before[2], after[2]) and before[3:] == after[3:]
        )

    return frozenset(name for name in one.keys() | other.keys() if not is_same(name))


def differing_versions(old: CompiledDefinition, new: CompiledDefinition) -> frozenset[str]:
    """Return the versions that only one definition has, or that differ in the shape of the schema."""
    one, other = _shapes(old, scopes=False), _shapes(new, scopes=False)
    return frozenset(name for name in one.keys() | other.keys() if name not in one or name not in other or one[name] != other[name])


def _shapes(judged: CompiledDefinition, *, scopes: bool) -> dict[str, tuple[Any, ...]]:
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
