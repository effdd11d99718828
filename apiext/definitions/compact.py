"""Definitions as they are kept: without the lists and maps that are there and empty, which only validation looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

_NAMED: Final = frozenset({"properties", "patternProperties", "dependencies", "definitions"})
_LISTED: Final = frozenset({"allOf", "oneOf", "anyOf"})
_CONTAINERS: Final = _NAMED | _LISTED | {"enum", "required", "x-kubernetes-list-map-keys", "x-kubernetes-validations"}
_NESTED: Final = _LISTED | {"items", "not", "additionalProperties", "additionalItems"}
_OF_VERSIONS: Final = frozenset({"additionalPrinterColumns", "selectableFields"})


def compact(spec: Object) -> Object:
    """A canonical v1 spec without what is empty in its versions. Shares members with the given one and changes none."""
    versions = spec["versions"]
    return spec | {"versions": [_version(version) for version in versions]} if versions else spec


def _version(version: Object) -> Object:
    kept = {key: member for key, member in version.items() if member or key not in _OF_VERSIONS}
    validation = version.get("schema")
    schema = validation.get("openAPIV3Schema") if validation else None
    return kept | {"schema": validation | {"openAPIV3Schema": _schema(schema)}} if validation and schema else kept


def _schema(value: Any) -> Any:
    """What stands in the place of a schema."""
    if isinstance(value, list):
        return [_schema(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    out = {}
    for key, member in value.items():
        if key in _NESTED:
            below = _schema(member)
        elif key in _NAMED and member:
            below = {name: _schema(child) for name, child in member.items()}
        else:
            below = member
        if below or key not in _CONTAINERS:
            out[key] = below
    return out
