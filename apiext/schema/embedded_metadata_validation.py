"""Validation of embedded apiVersion, kind and metadata (objectmeta/validation.go)."""

from __future__ import annotations

from typing import Any

from apiext.base.meta import names
from apiext.base.meta.field import ErrorType, FieldError, Path, invalid, required
from apiext.base.meta.golang.type_model import DecodeError
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.objectmeta import canonical, validation
from apiext.schema.embedded_metadata import below, resources
from apiext.schema.lazy_path import DottedPath
from apiext.schema.model import Structural


def resource_errors(value: Any, schema: Structural, *, base: str = "") -> list[FieldError]:
    """Return the errors of the type and metadata of embedded resources; `base` is the path of the value."""
    errors: list[FieldError] = []
    for resource, path in resources(value, schema, DottedPath(DottedPath(), base) if base else DottedPath()):
        _resource(resource, path, errors)
    return errors


def _resource(value: dict[str, Any], path: DottedPath, errors: list[FieldError]) -> None:
    errors.extend(required(below(path, key)) for key in ("apiVersion", "kind") if key not in value)
    for key, member in value.items():
        if key in ("apiVersion", "kind"):
            if detail := _type_problem(key, member):
                errors.append(invalid(below(path, key), member, detail))
        elif key == "metadata":
            errors.extend(_metadata(member, below(path, key)))


def _type_problem(key: str, value: Any) -> str:
    if type(value) is not str:
        return "must be a string"
    if not value:
        return "must not be empty"
    if key == "kind":
        problems = names.dns1035_label(value.lower())
        return f"may have mixed case, but should otherwise match: {','.join(problems)}" if problems else ""
    try:
        parse_group_version(value)
    except ValueError as error:
        return str(error)
    return ""


def _metadata(value: Any, path: DottedPath) -> list[FieldError]:
    resource = {"metadata": value}
    try:
        canonical.coerce(resource)
    except DecodeError as error:
        return [FieldError(ErrorType.INVALID, path, value, str(error))]
    metadata = resource["metadata"]
    if not metadata.get("name"):
        # Unlike stored objects, embedded ones need no name.
        metadata = metadata | {"name": "fakename"}
    return validation.validate(metadata, namespaced=bool(metadata.get("namespace")), name_rule=names.path_segment, path=Path(path))
