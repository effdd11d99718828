"""Rules of keywords about the kind of a value: type, null, default, resource, lists, and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from apiext.base.meta.encoding.json_values import equal
from apiext.resources.comparison.change import UngradedChange
from apiext.resources.comparison.shown import shown
from apiext.resources.comparison.value_keywords import KeywordRule
from apiext.schema.keywords import KEYWORDS
from apiext.schema.model import Props

_INT_OR_STRING: Final = "int-or-string"
_ANY: Final = ""
"""The type of a schema without one: it accepts values of all types."""
_WIDER_TYPES: Final = {("integer", "number"), ("integer", _INT_OR_STRING), ("string", _INT_OR_STRING)}
"""A type, and one that accepts all of its values."""


def type_of(props: Props) -> str:
    """Return the type of a schema's values, with int-or-string as a type; empty for any."""
    if props.get("x-kubernetes-int-or-string") is True:
        return _INT_OR_STRING
    kind: str = props.get("type") or _ANY
    return kind


def are_comparable(old: Props, new: Props) -> bool:
    """Report whether one of two schemas may accept the values of the other: their types are equal, or one includes the other."""
    before, after = type_of(old), type_of(new)
    return before == after or _is_wider(before, after) or _is_wider(after, before)


def type_changes(old: Props, new: Props) -> Iterator[UngradedChange]:
    """Yield the change of the type, if any."""
    before, after = type_of(old), type_of(new)
    if before != after:
        name = "typeWidened" if _is_wider(before, after) else "typeNarrowed" if _is_wider(after, before) else "typeChanged"
        yield UngradedChange(name, f"type changed from {before or 'any'} to {after or 'any'}")


def _is_wider(kind: str, other: str) -> bool:
    """Report whether the other type accepts all values of a type."""
    return other == _ANY or (kind, other) in _WIDER_TYPES


def _nullable(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("nullable") is True for props in (old, new))
    if before != after:
        yield UngradedChange(*(("nullableAdded", "null became a value") if after else ("nullableRemoved", "null is no longer a value")))


def _default(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = old.get("default"), new.get("default")
    if before is None and after is not None:
        yield UngradedChange("defaultAdded", f"default {shown(after)} was added")
    elif before is not None and after is None:
        yield UngradedChange("defaultRemoved", f"default {shown(before)} was removed")
    elif not equal(before, after):
        yield UngradedChange("defaultChanged", f"default changed from {shown(before)} to {shown(after)}")


def _embedded(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("x-kubernetes-embedded-resource") is True for props in (old, new))
    if before != after:
        name = "embeddedResourceAdded" if after else "embeddedResourceRemoved"
        yield UngradedChange(name, "the value became a resource" if after else "the value is no longer a resource")


def _list_type(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("x-kubernetes-list-type") or "atomic" for props in (old, new))
    if before != after:
        yield UngradedChange("listTypeChanged", f"list type changed from {before} to {after}")


def _list_map_keys(old: Props, new: Props) -> Iterator[UngradedChange]:
    if any(props.get("x-kubernetes-list-type") != "map" for props in (old, new)):
        return
    before, after = (sorted(props.get("x-kubernetes-list-map-keys") or ()) for props in (old, new))
    if before != after:
        yield UngradedChange("listMapKeysChanged", f"keys of the list changed from {', '.join(before)} to {', '.join(after)}")


def _map_type(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("x-kubernetes-map-type") or "granular" for props in (old, new))
    if before != after:
        yield UngradedChange("mapTypeChanged", f"map type changed from {before} to {after}")


def _description(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("description") or "" for props in (old, new))
    if before != after:
        yield UngradedChange("descriptionChanged", f"description changed from {shown(before)} to {shown(after)}")


def _documentation(old: Props, new: Props) -> Iterator[UngradedChange]:
    for keyword in _DOCUMENTATION:
        before, after = (props.get(keyword) or None for props in (old, new))
        if not equal(before, after):
            yield UngradedChange("documentationChanged", f"{keyword} changed from {shown(before)} to {shown(after)}")


def _unstructural(old: Props, new: Props) -> Iterator[UngradedChange]:
    for keyword in _UNSTRUCTURAL:
        before, after = old.get(keyword), new.get(keyword)
        if not equal(before, after):
            yield UngradedChange("unstructuralKeywordChanged", f"{keyword} changed from {shown(before)} to {shown(after)}")


_DOCUMENTATION: Final = ("title", "example", "externalDocs")
_UNSTRUCTURAL: Final = tuple(keyword.name for keyword in KEYWORDS if not keyword.structural)

TYPE_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType(
    {
        "type": type_changes,
        "x-kubernetes-int-or-string": type_changes,
        "nullable": _nullable,
        "default": _default,
        "x-kubernetes-embedded-resource": _embedded,
        "x-kubernetes-list-type": _list_type,
        "x-kubernetes-list-map-keys": _list_map_keys,
        "x-kubernetes-map-type": _map_type,
        "description": _description,
    }
    | dict.fromkeys(_DOCUMENTATION, _documentation)
    | dict.fromkeys(_UNSTRUCTURAL, _unstructural)
)
"""The rule of each keyword about the kind of a value."""
