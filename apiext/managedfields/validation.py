"""Checks whether a value has its merge type (structured-merge-diff typed/validate.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from apiext.managedfields.merge_types import BOOLEAN, DEDUCED, NUMERIC, STRING, UNTYPED_ATOMIC, ItemError, ListType, MapType, MergeType
from apiext.meta.golang import formatting
from apiext.meta.unstructured import go_string, type_name

Problem = tuple[str, str]
"""Path and message."""
COMPARED_LEVELS: Final = 8
"""Levels of nesting at which values are compared as a whole before field by field. More would be quadratic in deep values."""
_ANYTHING = frozenset({DEDUCED, UNTYPED_ATOMIC})


class InvalidValueError(ValueError):
    """A value does not match its merge type."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        lines = [f"{path}: {message}" if path else message for path, message in problems]
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join(("errors:", *lines)))


def check(merge_type: MergeType, value: Any, *, duplicates: bool = False) -> None:
    """Check a value. With `duplicates`, sets and list maps may have several items with one key.

    Raises:
        InvalidValueError: the value does not have the type.
    """
    problems = _problems(merge_type, value, duplicates)
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


def _problems(merge_type: MergeType, value: Any, duplicates: bool) -> list[Problem] | None:  # noqa: FBT001
    if type(value) in merge_type.scalars or merge_type in _ANYTHING:
        return None
    if type(value) is dict and merge_type.map is not None:
        return _map_problems(merge_type.map, value, duplicates)
    kind = merge_type.kind(value)
    if kind is dict:
        return [("", f"expected map, got &{{{go_string(value)}}}")]
    if kind is list and merge_type.list is not None:
        if type(value) is list:
            return _list_problems(merge_type.list, value, duplicates)
        return [("", f"expected list, got &{{{go_string(value)}}}")]
    return [("", _scalar_problem(merge_type.scalar, value))]


def _scalar_problem(scalar: str, value: Any) -> str:
    if scalar == NUMERIC:
        return f"expected numeric (int or float), got {type_name(value)}"
    if scalar == STRING:
        return f"expected string, got &value.valueUnstructured{{Value:{formatting.syntax(value)}}}"
    return f"expected {'boolean' if scalar == BOOLEAN else 'any scalar'}, got &{{{go_string(value)}}}"


def _map_problems(map_type: MapType, value: dict[str, Any], duplicates: bool) -> list[Problem]:  # noqa: FBT001
    found: list[Problem] = []
    scalars, others = map_type.scalars, map_type.other_scalars
    for name, item in value.items():
        if type(item) in scalars.get(name, others):
            continue
        below = map_type.fields[name][1] if name in scalars else map_type.element
        if below is None:
            found.append((f".{name}", "field not declared in schema"))
            break
        if problems := _problems(below, item, duplicates):
            found += [(f".{name}{path}", message) for path, message in problems]
    return found


def _list_problems(list_type: ListType, value: list[Any], duplicates: bool) -> list[Problem]:  # noqa: FBT001
    found: list[Problem] = []
    below, seen = list_type.element, set()
    for index, item in enumerate(value):
        if list_type.associative:
            try:
                if duplicates:
                    list_type.check_item(item)
                elif (element := list_type.element_of(item)) in seen:
                    found.append(("", f"duplicate entries for key {list_type.text_of(item)}"))
                else:
                    seen.add(element)
            except ItemError as error:
                found.append(("", f"element {index}: {error}"))
                break
        if type(item) not in below.scalars and (problems := _problems(below, item, duplicates)):
            step = list_type.text_of(item) if list_type.associative else f"[{index}]"
            found += [(f"{step}{path}", message) for path, message in problems]
    return found
