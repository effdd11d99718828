"""Fields of objects: their paths in findings, as in field errors with [] in place of indices and keys of maps, and their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.schema.model import Structural

Step = str | int
"""The name of a member, the key of a map, or the index of an item."""

_INDEX: Final = re.compile(r"\[\d+\]")
_NAME: Final = re.compile(r"[^.\[]+")
_ROOT: Final = "<nil>"
_TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})
ABSENT: Final = object()


def below(path: str, schema: Structural | None, step: Step) -> str:
    """Return the general path of a member or item below a value with a path and schema."""
    if isinstance(step, int) or is_map(schema, step):
        return f"{path}[]"
    return f"{path}.{step}" if path else step


def is_map(schema: Structural | None, name: str) -> bool:
    """Return whether a member of an object with a schema is an entry of a map."""
    return schema is not None and schema.has_additional and name not in schema.properties


def child(schema: Structural | None, step: Step) -> Structural | None:
    """Return the schema of a member or item, None if it is not specified."""
    if schema is None:
        return None
    return schema.items if isinstance(step, int) else schema.properties.get(step) or schema.additional


def steps_of(text: str, value: Any) -> list[Step]:
    """Return the steps of a field error's path through an object. Members that it does not have count as names."""
    rest = "" if text == _ROOT else text
    steps: list[Step] = []
    while rest:
        step, size = _first(rest, value)
        steps.append(step)
        value = _at(value, step)
        rest = rest[size:].removeprefix(".")
    return steps


def _first(text: str, value: Any) -> tuple[Step, int]:
    """Return the first step of a path and the characters that it takes."""
    if text[0] == "[":
        found = _INDEX.match(text)
        if type(value) is list and found is not None:
            return int(text[1 : found.end() - 1]), found.end()
        keys = [key for key in value if text.startswith(f"[{key}]")] if type(value) is dict else []
        if keys:
            key = max(keys, key=len)
            return key, len(key) + 2
        end = text.find("]", 1)
        return (text[1:end], end + 1) if end > 0 else (text[1:], len(text))
    keys = [key for key in value if key and _begins(text, key)] if type(value) is dict else []
    if keys:
        key = max(keys, key=len)
        return key, len(key)
    name = _NAME.match(text)
    return (name[0], name.end()) if name is not None else (text, len(text))


def _begins(text: str, key: str) -> bool:
    return text.startswith(key) and text[len(key) : len(key) + 1] in ("", ".", "[")


def _at(value: Any, step: Step) -> Any:
    if isinstance(step, int):
        return value[step] if type(value) is list and step < len(value) else None
    return value.get(step) if type(value) is dict else None


def general(steps: list[Step], schema: Structural | None) -> str:
    """Return the general path of steps."""
    path = ""
    for step in steps:
        path, schema = below(path, schema, step), child(schema, step)
    return path


def described(error: FieldError, obj: Any, schema: Structural) -> tuple[str, str]:
    """Return the general path of a field error, and its message without the value and without what differs between objects."""
    text = error.field
    path = general(steps_of(text, obj), schema)
    detail = _INDEX.sub("[]", error.detail.replace(text, path) if text != _ROOT else error.detail)
    return path, f"{error.type.label}: {detail}" if detail else error.type.label


def at(obj: Any, steps: Iterable[Step]) -> Any:
    """Return the value at a path, ABSENT if there is none."""
    for step in steps:
        is_there = step in obj if type(obj) is dict else type(obj) is list and isinstance(step, int) and step < len(obj)
        if not is_there:
            return ABSENT
        obj = obj[step]
    return obj


def scalars(obj: Object, schema: Structural) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    """Yield the path, schema and value of each scalar and null of an object, outside the metadata."""
    for name, member in obj.items():
        if name not in _TYPE_META:
            yield from _scalars((name,), child(schema, name), member)


def _scalars(steps: tuple[Step, ...], schema: Structural | None, value: Any) -> Iterator[tuple[tuple[Step, ...], Structural | None, Any]]:
    if type(value) is dict:
        for name, member in value.items():
            yield from _scalars((*steps, name), child(schema, name), member)
    elif type(value) is list:
        for index, item in enumerate(value):
            yield from _scalars((*steps, index), child(schema, index), item)
    else:
        yield steps, schema, value


def other_values(schema: Structural | None, value: Any) -> Iterator[Any]:
    """Yield other values for a scalar: those of its enum, else some of its type. Other rules of the schema may forbid them."""
    allowed = None if schema is None else schema.raw.get("enum")
    if allowed:
        yield from (each for each in allowed if each != value and each is not None)
    elif type(value) is bool:
        yield not value
    elif type(value) is int or type(value) is float:
        yield from (value + 1, value - 1)
    elif type(value) is str:
        yield from (f"{value}x", value[:-1], f"{value}1")
