"""Embedded metadata: coercion to its type (objectmeta/algorithm.go), and validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiext.base.meta import names
from apiext.base.meta.field import ErrorType, FieldError, Path, invalid, required
from apiext.base.meta.golang.type_model import DecodeError
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_ERROR_CHARACTERS
from apiext.base.meta.objectmeta import canonical, validation
from apiext.schema.field_path import DottedPath
from apiext.schema.model import Structural


def resources(value: Any, schema: Structural, path: DottedPath) -> Iterator[tuple[dict[str, Any], DottedPath]]:
    """Yield each embedded resource with its path, outer ones first. The caller may change the yielded objects."""
    if type(value) is dict:
        if schema.embedded:
            yield value, path
        if not schema.has_resources:
            return
        properties = schema.properties
        for key, member in value.items():
            if type(member) is not dict and type(member) is not list:
                continue
            child = properties.get(key)
            if child is not None:
                yield from resources(member, child, below(path, key))
            elif schema.additional is not None:
                yield from resources(member, schema.additional, DottedPath(path, f"[{key}]"))
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                yield from resources(item, schema.items, DottedPath(path, f"[{index}]"))


def below(path: DottedPath, name: str) -> DottedPath:
    """Return the path of a member."""
    return DottedPath(path, f".{name}" if path else name)


class CoercionError(ValueError):
    """An embedded apiVersion, kind or metadata of a wrong type."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def coerce(value: Any, schema: Structural, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
    """Bring the metadata of embedded resources into its typed form, in place. With report, return the sorted paths of unknown fields.

    With drop_invalid, values of a wrong type are dropped.

    Raises:
        CoercionError: a value has a wrong type (without drop_invalid).
    """
    unknown: list[str] = []
    size = 0
    for resource, path in resources(value, schema, DottedPath()):
        found = _coerce_resource(resource, path, drop_invalid=drop_invalid, report=report and size < MAX_ERROR_CHARACTERS)
        size += sum(map(len, found))
        unknown += found
    unknown.sort()
    return unknown


def _coerce_resource(resource: dict[str, Any], path: DottedPath, *, drop_invalid: bool, report: bool) -> list[str]:
    for key in ("apiVersion", "kind"):
        if key in resource and type(resource[key]) is not str:
            if not drop_invalid:
                raise CoercionError(FieldError(ErrorType.INVALID, below(path, key), resource[key], "must be a string"))
            del resource[key]
    metadata_path = below(path, "metadata")
    try:
        unknown, _ = canonical.coerce(resource, drop_malformed=drop_invalid, report=report, path=metadata_path)
    except DecodeError as error:
        if drop_invalid:
            return []
        failure = FieldError(ErrorType.INVALID, metadata_path, resource["metadata"], str(error))
        raise CoercionError(failure) from error
    return unknown


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
