"""JSON values as Python data: depth, copies and equality.

A JSON value is None, a bool, an int, a float, a str, a list of JSON values or a dict from str to JSON values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

import orjson

_NESTED: Final = frozenset({dict, list})
_SHARED_LEVELS: Final = 8
"""Levels of objects whose members are shared one by one; deeper objects are shared as a whole."""


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a JSON value has more than `levels` levels of nested objects and lists."""
    return any(number >= levels for number in _levels(value))


def depth(value: Any) -> int:
    """Return the number of levels of nested objects and lists; 0 for a scalar."""
    return sum(1 for _ in _levels(value))


def _levels(value: Any) -> Iterator[int]:
    """Yield the number of each level of nested objects and lists, from 0.

    Iterative, so that any depth can be measured.
    """
    level = [value] if type(value) in _NESTED else []
    number = 0
    while level:
        yield number
        number += 1
        level = [member for nested in level for member in (nested.values() if type(nested) is dict else nested) if type(member) in _NESTED]


def count_members(value: Any, *, at_most: int) -> int:
    """Return the number of items and members in all objects and lists of a JSON value.

    Stop counting a level after `at_most`, with what is counted so far: the time is bounded whatever the value contains.
    """
    found, level = 0, [value] if type(value) in _NESTED else []
    while level and found <= at_most:
        found += sum(map(len, level))
        if found <= at_most:
            level = [
                member for nested in level for member in (nested.values() if type(nested) is dict else nested) if type(member) in _NESTED
            ]
    return found


def copy(value: Any) -> Any:
    """Return a JSON value that shares no object or list with the given one."""
    if type(value) not in _NESTED:
        return value
    # One frame for each level; a comprehension would be a second one.
    copied = value.copy()
    for key, member in value.items() if type(value) is dict else enumerate(value):
        if type(member) in _NESTED:
            copied[key] = copy(member)
    return copied


def equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal by Go's reflect.DeepEqual: true, 1 and 1.0 all differ.

    The order of members does not matter.
    """
    if left is right:
        return True
    if type(left) is not type(right) or left != right:
        return False
    if type(left) not in _NESTED:
        return True
    # In Python, true equals 1 and 1.0.
    try:
        if orjson.dumps(left, option=orjson.OPT_SORT_KEYS) == orjson.dumps(right, option=orjson.OPT_SORT_KEYS):
            return True
    except orjson.JSONEncodeError:
        pass
    return _same_types(left, right)


def _same_types(left: Any, right: Any) -> bool:
    """Return whether two values that Python finds equal have the same types everywhere."""
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        if type(one) is not type(other):
            return False
        if type(one) is dict:
            pending += [(member, other[key]) for key, member in one.items()]
        elif type(one) is list:
            pending += zip(one, other, strict=True)
    return True


def share(new: dict[str, Any], old: dict[str, Any], levels: int = _SHARED_LEVELS) -> bool:
    """Replace values in `new` by the equal ones in `old`; return whether all are equal.

    Later comparisons of the two objects are faster: they find the same Python objects.
    """
    is_same = len(new) == len(old)
    for key, member in new.items():
        known, kind = old.get(key, old), type(member)
        if known is member:
            continue
        if known is old or kind is not type(known):
            is_same = False
        elif share(member, known, levels - 1) if kind is dict and levels else equal(member, known) if kind in _NESTED else member == known:
            new[key] = known
        else:
            is_same = False
    return is_same


def identity(value: Any) -> Hashable:
    """Return a hashable key of a JSON value: `equal` values have the same key."""
    if type(value) is dict:
        return dict, frozenset((key, identity(member)) for key, member in value.items())
    return (list, tuple(map(identity, value))) if type(value) is list else (type(value), value)


def transform(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a JSON value with `change` applied to each scalar."""
    if type(value) not in _NESTED:
        return change(value)
    changed = value.copy()
    for key, member in value.items() if type(value) is dict else enumerate(value):
        changed[key] = transform(member, change)
    return changed
