"""Fields of objects: their values, their differences, and their paths in findings.

A path is that of a field error, with [] in place of indices and keys of maps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.schema.validation.correlated import KeyedItems

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
_TEXTS: Final = ("labels", "annotations")
"""Members of the metadata that a conversion may change."""


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


class What(Enum):
    """The kind of a difference."""

    MISSING = "missing"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that differs."""

    what: What
    path: str
    before: Any = None
    after: Any = None


def same_content(before: Object, after: Object) -> bool:
    """Return whether two objects are equal apart from apiVersion and metadata. Here true equals 1: only a conversion could mix them up."""
    if len(before) != len(after):
        return False
    for name, member in before.items():
        other = after.get(name)
        if other is not member and name not in _TYPE_META and (other != member or name not in after):
            return False
    return True


def differences(before: Object, after: Object, schema: Structural | None, *, typed: bool = False) -> list[FieldDifference]:
    """Return how the content of an object differs. Metadata does not count. Unless `typed`, true equals 1: only a webhook mixes them up."""
    walk = _Walk(typed=typed)
    one, other = ({name: member for name, member in obj.items() if name not in _TYPE_META} for obj in (before, after))
    walk.compare(one, other, schema, "")
    return walk.found


def text_differences(before: Object, after: Object) -> list[FieldDifference]:
    """Return the missing and changed labels and annotations of an object."""
    found: list[FieldDifference] = []
    for name in _TEXTS:
        one, other = ((obj.get("metadata") or {}).get(name) or {} for obj in (before, after))
        path = f"metadata.{name}[]"
        for key, text in one.items():
            if key not in other:
                found.append(FieldDifference(What.MISSING, path, text))
            elif other[key] != text:
                found.append(FieldDifference(What.CHANGED, path, text, other[key]))
    return found


class _Walk:
    """One comparison."""

    __slots__ = ("_typed", "found")

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self.found: list[FieldDifference] = []

    def compare(self, before: Any, after: Any, schema: Structural | None, path: str) -> None:
        """Compare two values at a path."""
        if before is after or (not self._typed and before == after):
            return
        if type(before) is dict and type(after) is dict:
            for name, member in before.items():
                here = below(path, schema, name)
                if name in after:
                    self.compare(member, after[name], child(schema, name), here)
                else:
                    self.found.append(FieldDifference(What.MISSING, here, member))
            added = [name for name in after if name not in before]
            self.found += [FieldDifference(What.ADDED, below(path, schema, name), None, after[name]) for name in added]
        elif type(before) is list and type(after) is list:
            self._compare_lists(before, after, schema, path)
        elif before != after or (type(before) is bool) != (type(after) is bool):
            self.found.append(FieldDifference(What.CHANGED, path, before, after))

    def _compare_lists(self, before: list[Any], after: list[Any], schema: Structural | None, path: str) -> None:
        items = None if schema is None else schema.items
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                self.compare(one, other, items, f"{path}[]")
            return
        if schema is None or schema.list_type != "map":
            self.found.append(FieldDifference(What.CHANGED, path, before, after))
            return
        earlier, later = KeyedItems(before, schema.raw), KeyedItems(after, schema.raw)
        for one in before:
            other = later.get(one)
            if other is None:
                self.found.append(FieldDifference(What.MISSING, f"{path}[]", one))
            else:
                self.compare(one, other, items, f"{path}[]")
        self.found += [FieldDifference(What.ADDED, f"{path}[]", None, item) for item in after if earlier.get(item) is None]
