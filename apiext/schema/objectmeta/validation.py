"""Validation of embedded apiVersion, kind and metadata (objectmeta/validation.go)."""

from __future__ import annotations

from typing import Any

from apiext.meta import names, objectmeta, objectmeta_rules
from apiext.meta.field import ErrorType, FieldError, Path, invalid, required
from apiext.meta.go_types import DecodeError
from apiext.meta.gvk import parse_group_version
from apiext.schema.model import Structural
from apiext.schema.objectmeta.algorithm import below, resources


def resource_errors(obj: Any, schema: Structural | None, *, resource_root: bool, base: str = "") -> list[FieldError]:
    """Return the errors of the type and metadata of embedded resources, and with `resource_root` of the root."""
    if resource_root:
        schema = schema if schema is not None and schema.embedded else (schema or Structural(None)).as_resource()
    errors: list[FieldError] = []
    if schema is not None:
        for resource, path in resources(obj, schema, base):
            _resource(resource, path, errors)
    return errors


def _resource(value: dict[str, Any], path: str, errors: list[FieldError]) -> None:
    here = Path(path) if path else Path()
    errors.extend(required(here.child(key)) for key in ("apiVersion", "kind") if key not in value)
    for key, member in value.items():
        if key == "apiVersion":
            errors.extend(_api_version(member, here.child(key)))
        elif key == "kind":
            errors.extend(_kind(member, here.child(key)))
        elif key == "metadata":
            errors.extend(_metadata(value, below(path, key)))


def _api_version(value: Any, path: Path) -> list[FieldError]:
    if type(value) is not str:
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    try:
        parse_group_version(value)
    except ValueError as error:
        return [invalid(path, value, str(error))]
    return []


def _kind(value: Any, path: Path) -> list[FieldError]:
    if type(value) is not str:
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    if wrong := names.dns1035_label(value.lower()):
        return [invalid(path, value, f"may have mixed case, but should otherwise match: {','.join(wrong)}")]
    return []


def _metadata(value: dict[str, Any], path: str) -> list[FieldError]:
    holder = {"metadata": value["metadata"]}
    try:
        objectmeta.coerce(holder)
    except DecodeError as error:
        return [FieldError(ErrorType.INVALID, path, value["metadata"], str(error))]
    metadata = holder["metadata"]
    if not metadata.get("name"):
        # Unlike stored objects, embedded ones need no name.
        metadata = metadata | {"name": "fakename"}
    return objectmeta_rules.validate(metadata, namespaced=bool(metadata.get("namespace")), name_rule=names.path_segment, path=Path(path))
