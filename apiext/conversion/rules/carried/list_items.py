"""How the items of a list correspond to those of the same list after a conversion there and back."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from apiext.conversion.rules.carried.entries import ItemKey, by_key, digest
from apiext.meta.encoding import json_codec
from apiext.schema.model import Structural

_NAMES: Final = (("name",), ("key",), ("id",))
"""Fields that identify items of lists without declared keys, where each item has one of its own."""
_NESTED: Final = (dict, list)


def same(left: Any, right: Any) -> bool:
    """Return whether two values are the same JSON."""
    if type(left) in _NESTED:
        # true equals 1 in Python
        return bool(left == right) and json_codec.dumps(left) == json_codec.dumps(right)
    return bool(left == right) and (type(left) is bool) == (type(right) is bool)


class MatchedItems(NamedTuple):
    """The items of two lists by the fields that identify them."""

    keys: Sequence[str]
    original: Mapping[ItemKey, Any]
    returned: Mapping[ItemKey, Any]


def keyed_items(original: Sequence[Any], returned: Sequence[Any], schema: Structural) -> MatchedItems | None:
    """Return the items of both lists by their keys; None if they have no keys."""
    declared = [schema.list_map_keys] if schema.list_type == "map" and schema.list_map_keys else _NAMES
    if not original and not returned:
        return None
    for keys in declared:
        ordered = sorted(keys)
        own, theirs = by_key(original, ordered), by_key(returned, ordered)
        if own is not None and theirs is not None:
            return MatchedItems(ordered, own, theirs)
    return None


def permutation(original: Sequence[Any], returned: Sequence[Any]) -> list[int] | None:
    """Return the place of each original item among the returned ones; None if they are not the same items."""
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, item in enumerate(returned):
        places[digest(item)].append(place)
    order = []
    for item in original:
        found = places[digest(item)]
        if not found:
            return None
        order.append(found.popleft())
    return order


def correspond(original: Sequence[Any], returned: Sequence[Any], changed: Sequence[int]) -> bool:
    """Return whether the changed items surely correspond to those at the same places: no conversion has moved them."""
    if all(_is_part(returned[place], original[place]) for place in changed):
        return True
    if any(type(items[place]) in _NESTED for place in changed for items in (original, returned)):
        return False
    before, after = ({digest(items[place]) for place in changed} for items in (original, returned))
    return before.isdisjoint(after)


def _is_part(part: Any, whole: Any) -> bool:
    """Return whether a value is what remains of another one when members of objects are removed."""
    pending = [(part, whole)]
    while pending:
        some, every = pending.pop()
        if type(some) is dict and type(every) is dict:
            if not some.keys() <= every.keys():
                return False
            pending += [(member, every[name]) for name, member in some.items()]
        elif type(some) is list and type(every) is list:
            if len(some) != len(every):
                return False
            pending += zip(some, every, strict=True)
        elif not same(some, every):
            return False
    return True
