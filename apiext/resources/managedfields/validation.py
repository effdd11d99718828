"""Checks whether a value has its merge type (structured-merge-diff typed/validate.go)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.foreign_values import NullNumber, OpaqueList, OpaqueMap
from apiext.base.meta.unstructured import go_string, type_name
from apiext.resources.managedfields.merge_types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED_ATOMIC,
    ItemError,
    ListType,
    MapType,
    MergeType,
)

Problem = tuple[str, str]
"""Path and message."""
COMPARED_LEVELS: Final = 8
"""Levels of nesting at which values are compared as a whole before field by field. More would be quadratic in deep values."""
_ANYTHING: Final = frozenset({DEDUCED, UNTYPED_ATOMIC})
_DUPLICATES: Final = 1
"""Bit of a check's mode: several items may have one key."""
_FOREIGN: Final = 2
"""Bit of a check's mode: there may be values that are no JSON."""


class InvalidValueError(ValueError):
    """A value does not match its merge type."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        lines = [f"{path}: {message}" if path else message for path, message in problems]
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join(("errors:", *lines)))


def check(merge_type: MergeType, value: Any, *, duplicates: bool = False, foreign: bool = False) -> None:
    """Check a value. With `duplicates`, sets and list maps may have several items with one key.

    With `foreign`, it may have values that are no JSON, which do not fit even where a schema takes anything.

    Raises:
        InvalidValueError: the value does not have the type.
    """
    problems = _problems(merge_type, value, (_DUPLICATES if duplicates else 0) | (_FOREIGN if foreign else 0))
    if problems:
        raise InvalidValueError(problems)


def check_changed(merge_type: MergeType, value: Any, checked: Any, *, levels: int = COMPARED_LEVELS) -> None:
    """Check the parts of a value that differ from a checked one. Allow duplicate items.

    Raises:
        InvalidValueError: the value does not have the type. Paths in the message begin at the part.
    """
    if not levels or merge_type.map is None or type(value) is not dict or type(checked) is not dict:
        check(merge_type, value, duplicates=True)
        return
    for name, item in value.items():
        other = checked.get(name)
        if item is other or item == other:
            continue
        below = merge_type.map.fields[name][1] if name in merge_type.map.fields else merge_type.map.element
        if below is None:
            raise InvalidValueError([(f".{name}", "field not declared in schema")])
        check_changed(below, item, other, levels=levels - 1)


def _problems(merge_type: MergeType, value: Any, mode: int) -> list[Problem] | None:
    if type(value) in merge_type.scalars:
        return None
    if merge_type in _ANYTHING:
        return list(_foreign_problems(value)) if mode & _FOREIGN else None
    if type(value) is dict and merge_type.map is not None:
        return _map_problems(merge_type.map, value, mode)
    kind = merge_type.kind(value)
    if kind is dict:
        return [("", f"expected map, got &{{{go_string(value)}}}")]
    if kind is list and merge_type.list is not None:
        if type(value) is list:
            return _list_problems(merge_type.list, value, mode)
        return [("", f"expected list, got &{{{go_string(value)}}}")]
    return [("", _scalar_problem(merge_type.scalar, value))]


def _foreign_problems(value: Any) -> Iterator[Problem]:
    """Yield the parts of a value of any type that are no JSON."""
    if isinstance(value, NullNumber | OpaqueList | OpaqueMap):
        yield "", f"expected map, got &{{{go_string(value)}}}"
        return
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in steps:
        step = f"[{key}]" if isinstance(value, list) else f".{key}"
        yield from ((step + path, message) for path, message in _foreign_problems(member))


def _scalar_problem(scalar: str, value: Any) -> str:
    if scalar == NUMERIC:
        return f"expected numeric (int or float), got {type_name(value)}"
    if scalar == STRING:
        return f"expected string, got &value.valueUnstructured{{Value:{formatting.syntax(value)}}}"
    return f"expected {'boolean' if scalar == BOOLEAN else 'any scalar'}, got &{{{go_string(value)}}}"


def _map_problems(map_type: MapType, value: dict[str, Any], mode: int) -> list[Problem]:
    found: list[Problem] = []
    scalars, others = map_type.scalars, map_type.other_scalars
    for name, item in value.items():
        if type(item) in scalars.get(name, others):
            continue
        below = map_type.fields[name][1] if name in scalars else map_type.element
        if below is None:
            found.append((f".{name}", "field not declared in schema"))
            break
        if problems := _problems(below, item, mode):
            found += [(f".{name}{path}", message) for path, message in problems]
    return found


def _list_problems(list_type: ListType, value: list[Any], mode: int) -> list[Problem]:
    found: list[Problem] = []
    below, seen = list_type.element, set()
    for index, item in enumerate(value):
        if list_type.associative:
            try:
                if mode & _DUPLICATES:
                    list_type.check_item(item)
                elif (element := list_type.element_of(item)) in seen:
                    found.append(("", f"duplicate entries for key {list_type.text_of(item)}"))
                else:
                    seen.add(element)
            except ItemError as error:
                found.append(("", f"element {index}: {error}"))
                break
        if type(item) not in below.scalars and (problems := _problems(below, item, mode)):
            step = list_type.text_of(item) if list_type.associative else f"[{index}]"
            found += [(f"{step}{path}", message) for path, message in problems]
    return found
