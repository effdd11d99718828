"""Access to nested members of an object by the path that a CRD names (apimachinery pkg/apis/meta/v1/unstructured/helpers.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.foreign_values import NullNumber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object

T = TypeVar("T", int, str)


def get_int(obj: Object, path: Sequence[str]) -> int | None:
    """Return the integer at a path, None if it is absent.

    Raises:
        ValueError: the value is no integer; the message is the reference's.
    """
    return _get(obj, path, int, "int64")


def get_string(obj: Object, path: Sequence[str]) -> str | None:
    """Return the string at a path, None if it is absent.

    Raises:
        ValueError: the value is no string; the message is the reference's.
    """
    return _get(obj, path, str, "string")


def put(obj: Object, path: Sequence[str], value: Any) -> None:
    """Set a member and create missing objects on its path. Copy existing ones except obj itself.

    Raises:
        ValueError: a value on the path is no object; the message is the reference's.
    """
    at = obj
    for depth, name in enumerate(path[:-1]):
        below = at.get(name, {})
        if type(below) is not dict:
            raise ValueError(f"value cannot be set because .{'.'.join(path[: depth + 1])} is not a map[string]interface{{}}")
        at[name] = dict(below)
        at = at[name]
    at[path[-1]] = value


def _get(obj: Object, path: Sequence[str], kind: type[T], go_kind: str) -> T | None:
    value: Any = obj
    for depth, name in enumerate(path):
        if value is None:
            return None
        if type(value) is not dict:
            raise _wrong_type(path[: depth + 1], value, "map[string]interface{}")
        if name not in value:
            return None
        value = value[name]
    if type(value) is not kind:
        raise _wrong_type(path, value, go_kind)
    return value


def _wrong_type(path: Sequence[str], value: Any, expected: str) -> ValueError:
    where = ".".join(path)
    return ValueError(f".{where} accessor error: {go_string(value)} is of the type {type_name(value)}, expected {expected}")


def type_name(value: Any) -> str:
    """Return the Go type of a JSON value, as %T prints it."""
    return _TYPES.get(type(value), "<nil>")


def go_string(value: Any) -> str:
    """Return a JSON value as Go's %v prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_string(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_string, value))}]"
    return "NULL_VALUE" if isinstance(value, NullNumber) else formatting.value(value)


_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    NullNumber: "structpb.NullValue",
}
