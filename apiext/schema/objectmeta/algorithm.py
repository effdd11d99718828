"""Coercion of embedded metadata to its type (objectmeta/algorithm.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiext.meta import objectmeta
from apiext.meta.field import ErrorType, FieldError
from apiext.meta.go_types import DecodeError
from apiext.schema.model import Structural


def resources(value: Any, schema: Structural, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each embedded resource with its path, before those inside it; the caller may change the yielded objects."""
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
                yield from resources(member, schema.additional, f"{path}[{key}]")
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                yield from resources(item, schema.items, f"{path}[{index}]")


def below(path: str, name: str) -> str:
    """Return the path of a member."""
    return f"{path}.{name}" if path else name


class CoercionError(ValueError):
    """An embedded apiVersion, kind or metadata of a wrong type."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def coerce(obj: Any, schema: Structural | None, *, resource_root: bool, drop_invalid: bool = False, report: bool = False) -> list[str]:
    """Bring the metadata of embedded resources, and with `resource_root` of the root, into its typed form, in place.

    With drop_invalid, values of a wrong type are dropped. With report, returns the sorted paths of unknown fields.

    Raises:
        CoercionError: a value has a wrong type (without drop_invalid).
    """
    if resource_root:
        schema = schema if schema is not None and schema.embedded else (schema or Structural(None)).as_resource()
    elif schema is None or not schema.has_resources:
        return []
    unknown: list[str] = []
    coercer = _Coercer(unknown, drop_invalid=drop_invalid, report=report)
    for resource, path in resources(obj, schema, ""):
        coercer.resource(resource, path)
    unknown.sort()
    return unknown


class _Coercer:
    __slots__ = ("_drop_invalid", "_report", "_unknown")

    def __init__(self, unknown: list[str], *, drop_invalid: bool, report: bool) -> None:
        self._unknown = unknown
        self._drop_invalid = drop_invalid
        self._report = report

    def resource(self, value: dict[str, Any], path: str) -> None:
        for key in ("apiVersion", "kind"):
            if key in value and type(value[key]) is not str:
                if not self._drop_invalid:
                    raise CoercionError(FieldError(ErrorType.INVALID, below(path, key), value[key], "must be a string"))
                del value[key]
        where = below(path, "metadata")
        try:
            unknown, _ = objectmeta.coerce(value, drop_malformed=self._drop_invalid, report=self._report, path=where)
        except DecodeError as error:
            if not self._drop_invalid:
                failure = FieldError(ErrorType.INVALID, where, value["metadata"], str(error))
                raise CoercionError(failure) from error
        else:
            self._unknown.extend(unknown)
