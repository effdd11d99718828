"""Sets of field paths, as FieldsV1 writes them.

A set is a dict from elements (see element.py) to what the set has below them. An empty dict is a member without members below, a
dict with the key "." a member with members below, any other dict is no member itself. The root has no ".". Sets are immutable:
operations return new dicts that share unchanged parts. Mirrors structured-merge-diff fieldpath/set.go and serialize.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from apiext.managedfields import element

FieldSet = dict[str, Any]
"""A set of field paths; the value of each key is a FieldSet."""

ITSELF: Final = "."
"""Key of a path that is itself a member and has members below."""
LEAF: Final[FieldSet] = {}
"""A member without members below; at the root, the empty set."""


def parse(fields: Any) -> FieldSet:
    """Read FieldsV1: keys in their only form, no unknown elements, no redundant ".".

    Raises:
        ValueError: the fields are no set.
    """
    parsed = _parse(fields)
    return {name: below for name, below in parsed.items() if name != ITSELF} if ITSELF in parsed else parsed


def _parse(fields: Any) -> FieldSet:
    """Return what a set has at and below a path."""
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
    """Yield the paths of a set: at each level first the members, then what is below them, in order."""
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
    """Return whether a path is a member, from what its set has at the path."""
    return not below or ITSELF in below


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths of either set."""
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
    """Return what the union of two sets has below a path that both have."""
    if not left:
        return right if is_member(right) else {ITSELF: LEAF, **right}
    if not right:
        return left if ITSELF in left else {ITSELF: LEAF, **left}
    return union(left, right)


def union_all(sets: Iterable[FieldSet]) -> FieldSet:
    """Return the paths of any of the sets, in time linear in their size."""
    found: dict[str, list[FieldSet]] = {}
    for fields in sets:
        for name, below in fields.items():
            found.setdefault(name, []).append(below)
    return {name: belows[0] if len(belows) == 1 else _union_all_below(belows) for name, belows in found.items()}


def _union_all_below(belows: list[FieldSet]) -> FieldSet:
    members = union_all(belows)
    return {ITSELF: LEAF, **members} if members and not all(belows) else members


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths of both sets."""
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
    """Return the paths of the first set that are not in the second; what is below a removed path stays."""
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
    """Return the paths of the first set that are neither in the second nor below one of its paths."""
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
    """Return the short form of what is below a path, None for nothing."""
    if not fields:
        return None
    return LEAF if len(fields) == 1 and ITSELF in fields else fields
