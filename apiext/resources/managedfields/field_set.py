"""Sets of field paths, in the structure of FieldsV1.

A set is a dict from elements (see element.py) to the set below each. {} is a member with nothing below. A dict with the key "." is a
member with other members below. Any other dict is not a member itself. The root has no ".". Sets are immutable: operations return
new dicts that share unchanged parts. Mirrors structured-merge-diff fieldpath/set.go and serialize.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from apiext.resources.managedfields import element

FieldSet = dict[str, Any]
"""A set of field paths; the value of each key is a FieldSet."""

ITSELF: Final = "."
"""Key that marks a path as a member although it has members below."""
LEAF: Final[FieldSet] = {}
"""A member without members below; at the root, the empty set."""


def parse(fields: Any) -> FieldSet:
    """Read FieldsV1 into canonical form: canonical keys, no unknown elements, no redundant ".".

    Raises:
        ValueError: the fields are not a set.
    """
    parsed = _parse(fields)
    return {name: below for name, below in parsed.items() if name != ITSELF} if ITSELF in parsed else parsed


def _parse(fields: Any) -> FieldSet:
    """Return the set at and below a path."""
    if type(fields) is not dict:
        raise ValueError("a field set must be an object")
    found: FieldSet = {ITSELF: LEAF} if ITSELF in fields else {}
    for key, value in fields.items():
        if key == ITSELF:
            continue
        name = key if key.startswith("f:") else element.canonical(key)
        if name is not None:
            found[name] = LEAF if value is None or (not value and type(value) is dict) else _parse(value)
    return LEAF if len(found) == 1 and ITSELF in found else found


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a set. Each level yields its members first, then the paths below them, in order."""
    yield from _paths(fields, ())


def _paths(fields: FieldSet, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    names = sorted((key for key in fields if key != ITSELF), key=element.order)
    for name in names:
        if is_member(fields[name]):
            yield (*prefix, name)
    for name in names:
        if fields[name]:
            yield from _paths(fields[name], (*prefix, name))


def from_paths(*members: tuple[str, ...]) -> FieldSet:
    """Return the set of the given paths."""
    result = LEAF
    for path in members:
        below = LEAF
        for name in reversed(path):
            below = {name: below}
        result = union(result, below)
    return result


def is_member(below: FieldSet) -> bool:
    """Return whether a path is a member, given the set at the path."""
    return not below or ITSELF in below


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the union of two sets."""
    if not left or left is right:
        return right
    if not right:
        return left
    result = left.copy()
    for name, below in right.items():
        own = result.get(name)
        if own is None:
            result[name] = below
        elif own is not below:
            result[name] = union_below(own, below)
    return result


def union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the union of two sets below a common path."""
    if not left:
        return right if is_member(right) else {ITSELF: LEAF, **right}
    if not right:
        return left if ITSELF in left else {ITSELF: LEAF, **left}
    return union(left, right)


def union_all(sets: Iterable[FieldSet]) -> FieldSet:
    """Return the union of several sets, in time linear in their size."""
    found: dict[str, list[FieldSet]] = {}
    for fields in sets:
        for name, below in fields.items():
            found.setdefault(name, []).append(below)
    return {name: belows[0] if len(belows) == 1 else _union_all_below(belows) for name, belows in found.items()}


def _union_all_below(belows: list[FieldSet]) -> FieldSet:
    members = union_all(belows)
    return {ITSELF: LEAF, **members} if members and not all(belows) else members


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the intersection of two sets."""
    result: FieldSet = {}
    for name, below in left.items():
        other = right.get(name)
        if other is not None and (common := _intersection_below(below, other)) is not None:
            result[name] = common
    return result


def _intersection_below(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left or not right:
        return LEAF if is_member(left) and is_member(right) else None
    return _tidy(intersection(left, right))


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths of the first set that are not in the second. Paths below a removed one stay."""
    if not right:
        return left
    result: FieldSet = {}
    for name, below in left.items():
        other = right.get(name)
        if other is None:
            result[name] = below
        elif (rest := _difference_below(below, other)) is not None:
            result[name] = rest
    return result


def _difference_below(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if is_member(right) else left
    if not right:
        return {name: below for name, below in left.items() if name != ITSELF} if ITSELF in left else left
    return _tidy(difference(left, right))


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths of the first set that are not in the second, nor below one of its paths."""
    if not left or not right:
        return left
    result: FieldSet = {}
    for name, below in left.items():
        other = right.get(name)
        if other is None or (other and ITSELF not in other and not below):
            result[name] = below
        elif other and ITSELF not in other and (rest := _tidy(recursive_difference(below, other))) is not None:
            result[name] = rest
    return result


def _tidy(fields: FieldSet) -> FieldSet | None:
    """Return a set below a path in its short form, None for an empty one."""
    if not fields:
        return None
    return LEAF if len(fields) == 1 and ITSELF in fields else fields
