"""JSON values as data: copies and comparison."""

from __future__ import annotations

from typing import Any


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if type(value) is dict:
        return {key: copy_json(member) for key, member in value.items()}
    if type(value) is list:
        return [copy_json(item) for item in value]
    return value


def same_json(left: Any, right: Any) -> bool:
    """Equality that tells 1, 1.0 and true apart, as Go's reflect.DeepEqual does."""
    if type(left) is not type(right):
        return False
    if type(left) is dict:
        return left.keys() == right.keys() and all(same_json(member, right[key]) for key, member in left.items())
    if type(left) is list:
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)
