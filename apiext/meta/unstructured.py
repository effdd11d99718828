"""Members deep in an object, by the path that a CRD names (apimachinery pkg/apis/meta/v1/unstructured/helpers.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta import go_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.json_codec import Object


def get_int(obj: Object, path: Sequence[str]) -> int | None:
    """A whole number, None if there is none. Raises ValueError in the reference's words when something else stands there."""
    found, value = _get(obj, path)
    if found and type(value) is not int:
        raise _wrong_type(path, value, "int64")
    return value if found else None


def get_string(obj: Object, path: Sequence[str]) -> str | None:
    """A text, None if there is none. Raises ValueError in the reference's words when something else stands there."""
    found, value = _get(obj, path)
    if found and type(value) is not str:
        raise _wrong_type(path, value, "string")
    return value if found else None


def put(obj: Object, path: Sequence[str], value: Any) -> None:
    """Set a member, making the objects on the way; what is on the way is copied, not changed, except obj itself.

    Raises:
        ValueError: something that is no object is on the way; the text is the reference's.
    """
    at = obj
    for depth, name in enumerate(path[:-1]):
        below = at.get(name, {})
        if type(below) is not dict:
            msg = f"value cannot be set because .{'.'.join(path[: depth + 1])} is not a map[string]interface{{}}"
            raise ValueError(msg)
        at[name] = dict(below)
        at = at[name]
    at[path[-1]] = value


def _get(obj: Object, path: Sequence[str]) -> tuple[bool, Any]:
    value: Any = obj
    for depth, name in enumerate(path):
        if value is None:
            return False, None
        if type(value) is not dict:
            raise _wrong_type(path[: depth + 1], value, "map[string]interface{}")
        if name not in value:
            return False, None
        value = value[name]
    return True, value


def _wrong_type(path: Sequence[str], value: Any, expected: str) -> ValueError:
    where = ".".join(path)
    return ValueError(f".{where} accessor error: {printed(value)} is of the type {type_name(value)}, expected {expected}")


def type_name(value: Any) -> str:
    """The Go type of a JSON value, as %T prints it."""
    return _TYPES.get(type(value), "<nil>")


def printed(value: Any) -> str:
    """A JSON value as Go's %v prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    return go_format.value(value)


_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
