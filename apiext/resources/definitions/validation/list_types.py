"""Validation of the extensions x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apiext.base.meta import field
from apiext.resources.definitions.validation import go_printing

if TYPE_CHECKING:
    from apiext.base.meta.field import FieldError, Path
    from apiext.schema.model import Props

_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("atomic", "granular")


def is_non_atomic_set(node: Props) -> bool:
    """Report whether a schema is a set whose items are not atomic."""
    items = node.get("items")
    if node.get("x-kubernetes-list-type") != "set" or not isinstance(items, Mapping):
        return False
    if items.get("type") == "array":
        return bool(items.get("x-kubernetes-list-type", "atomic") != "atomic")
    return bool(items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic")


def map_key_errors(node: Props, path: Path) -> list[FieldError]:
    """Return the errors of a set's or map's items: they must not be nullable, and keys must be present (validateMapListKeysMapSet)."""
    items, list_type = node.get("items"), node.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return []
    errors = []
    if items.get("nullable"):
        errors.append(field.forbidden(path.child("items", "nullable"), f"cannot be nullable when x-kubernetes-list-type is {list_type}"))
    if list_type == "set":
        return errors
    required, properties = frozenset(items.get("required") or ()), items.get("properties") or {}
    for key in node.get("x-kubernetes-list-map-keys") or ():
        if key not in properties:
            continue
        key_path = path.child("items", "properties").key(key)
        if key not in required and properties[key].get("default") is None:
            detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(field.required(key_path.child("default"), detail))
        if properties[key].get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(field.forbidden(key_path.child("nullable"), detail))
    return errors


def list_and_map_errors(node: Props, path: Path, *, atomic_sets: bool) -> list[FieldError]:
    """Return the errors of list and map types, and of the schemas that they require."""
    errors: list[FieldError] = []
    map_type, list_type = node.get("x-kubernetes-map-type"), node.get("x-kubernetes-list-type")
    if map_type is not None:
        errors += _type(node, path, expected="object", extension="x-kubernetes-map-type")
        if map_type not in _MAP_TYPES:
            errors.append(field.not_supported(path.child("x-kubernetes-map-type"), map_type, _MAP_TYPES))
    if list_type is not None:
        if node.get("type") != "array":
            errors += _type(node, path, expected="array", extension="x-kubernetes-list-type")
        elif atomic_sets and is_non_atomic_set(node):
            items = node["items"]
            extension = "x-kubernetes-list-type" if items["type"] == "array" else "x-kubernetes-map-type"
            detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
            errors.append(field.invalid(path.child("items", extension), items.get("x-kubernetes-list-type"), detail))
        if list_type not in _LIST_TYPES:
            errors.append(field.not_supported(path.child("x-kubernetes-list-type"), list_type, _LIST_TYPES))
    if node.get("x-kubernetes-list-map-keys") and list_type != "map":
        type_path, detail = path.child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(field.required(type_path, detail) if list_type is None else field.invalid(type_path, list_type, detail))
    if list_type == "map":
        errors += _map(node, path)
    return errors


def _type(node: Props, path: Path, *, expected: str, extension: str) -> list[FieldError]:
    actual, type_path, detail = node.get("type", ""), path.child("type"), f"must be {expected} if {extension} is specified"
    if actual == expected:
        return []
    return [field.invalid(type_path, actual, detail) if actual else field.required(type_path, detail)]


def _map(node: Props, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    keys, items_path = node.get("x-kubernetes-list-map-keys") or [], path.child("items")
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        errors.append(field.required(path.child("x-kubernetes-list-map-keys"), detail))
    if "items" not in node:
        return [*errors, field.required(items_path, "must have a schema if x-kubernetes-list-type is map")]
    items = node["items"]
    if not isinstance(items, Mapping):
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        errors.append(field.invalid(items_path, go_printing.items_value(items), detail))
    elif items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(field.invalid(items_path.child("type"), items.get("type", ""), detail))
    else:
        errors += _keys(keys, items, path)
    return errors


def _keys(keys: list[str], items: Props, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    properties, keys_path = items.get("properties") or {}, path.child("x-kubernetes-list-map-keys")
    known: set[str] = set()
    for key in keys:
        if key not in properties:
            errors.append(field.invalid(keys_path, keys, "entries must all be names of item properties"))
        elif properties[key].get("type") in ("array", "object"):
            type_path = path.child("items", "properties").key(key).child("type")
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(field.invalid(type_path, items.get("type", ""), detail))
        if key in known:
            errors.append(field.invalid(keys_path, keys, "must not contain duplicate entries"))
        known.add(key)
    return errors
