"""Coercion of embedded metadata to its type (objectmeta/algorithm.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiext.base.meta.field import ErrorType, FieldError
from apiext.base.meta.golang.type_model import DecodeError
from apiext.base.meta.limits import MAX_ERROR_CHARACTERS
from apiext.base.meta.objectmeta import canonical
from apiext.schema.lazy_path import DottedPath
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
