"""What an object loses by a conversion there and back, as entries that restore it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.encoding import json_codec, json_values
from apiext.resources.conversion.rules.carried.entries import (
    ABSENT,
    MAX_STEPS,
    NO_DIGEST,
    Entry,
    FieldEntry,
    ItemKey,
    ItemsEntry,
    OrderEntry,
    Place,
    by_key,
    digest,
    order_of,
)
from apiext.resources.conversion.rules.carried.schema_nodes import ANYTHING, child, items_of
from apiext.schema.model import Structural

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Members of an object that no entry concerns as a whole."""
TEXTS: Final = ("labels", "annotations")
"""Members of the metadata whose texts rules may change."""
_COMPARED_STEPS: Final = 6
"""Steps of a place down to which lists are compared as a whole first, which is fast. Further below, each item is visited once."""

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


def difference(original: Object, returned: Object, schema: Structural) -> tuple[Entry, ...]:
    """Return the entries that make the original object of the returned one, in an order that depends on nothing else.

    Of the metadata, only labels and annotations count. `schema` is that of the objects' version.
    """
    found: list[Entry] = []
    before, after = original.get("metadata") or {}, returned.get("metadata") or {}
    for name in TEXTS if before is not after else ():
        _objects(("metadata", name), before.get(name) or {}, after.get(name) or {}, ANYTHING, found)
    _members((), [name for name in _differing(original, returned) if name not in IDENTITY], original, returned, schema, found)
    return tuple(found)


def _values(place: Place, original: Any, returned: Any, schema: Structural, found: list[Entry]) -> None:
    kind = type(original)
    if kind is type(returned) and len(place) < MAX_STEPS and (kind is dict or kind is list):
        if kind is dict:
            _objects(place, original, returned, schema, found)
            return
        if len(place) < _COMPARED_STEPS and json_values.equal(original, returned):
            return
        _lists(place, original, returned, schema, found)
        return
    if not same(original, returned):
        found.append(FieldEntry(place, digest(returned), original))


def _objects(place: Place, original: Mapping[str, Any], returned: Mapping[str, Any], schema: Structural, found: list[Entry]) -> None:
    _members(place, _differing(original, returned), original, returned, schema, found)


def _differing(original: Mapping[str, Any], returned: Mapping[str, Any]) -> list[str]:
    """Return the names of the members that may differ."""
    differing = [name for name in returned if name not in original]
    for name, value in original.items():
        other = returned.get(name, ABSENT)
        # most values are the same Python objects, or texts
        if value is not other and not (type(value) is str and value == other):
            differing.append(name)
    return differing


def _members(
    place: Place, names: list[str], original: Mapping[str, Any], returned: Mapping[str, Any], schema: Structural, found: list[Entry]
) -> None:
    for name in sorted(names):
        here = (*place, name)
        if name not in returned:
            found.append(FieldEntry(here, NO_DIGEST, original[name]))
        elif name not in original:
            found.append(FieldEntry(here, digest(returned[name]), ABSENT))
        else:
            _values(here, original[name], returned[name], child(schema, name), found)


def _lists(place: Place, original: Sequence[Any], returned: Sequence[Any], schema: Structural, found: list[Entry]) -> None:
    keyed = keyed_items(original, returned, schema)
    if keyed is not None:
        _keyed(place, keyed, returned, items_of(schema), found)
        return
    changed = [at for at, (item, other) in enumerate(zip(original, returned, strict=False)) if not same(item, other)]
    if len(original) == len(returned):
        if not changed:
            return
        if correspond(original, returned, changed):
            found.append(_items(place, original, returned, changed))
            return
        order = permutation(original, returned)
        if order is not None:
            found.append(OrderEntry(place, digest(list(returned)), order, ()))
            return
    found.append(FieldEntry(place, digest(returned), original))


def _items(place: Place, original: Sequence[Any], returned: Sequence[Any], changed: Sequence[int]) -> ItemsEntry:
    digests = list(map(digest, returned))
    items: dict[str, list[Any]] = {digests[at]: [] for at in changed}
    for item, known in zip(original, digests, strict=True):
        # unchanged items that look like changed ones count, too
        if known in items:
            items[known].append(item)
    return ItemsEntry(place, items)


def _keyed(place: Place, keyed: MatchedItems, returned: Sequence[Any], schema: Structural, found: list[Entry]) -> None:
    keys, own, theirs = keyed
    for key, item in own.items():
        if key in theirs:
            _values((*place, key), item, theirs[key], schema, found)
        else:
            found.append(FieldEntry((*place, key), NO_DIGEST, item))
    found += [FieldEntry((*place, key), digest(item), ABSENT) for key, item in theirs.items() if key not in own]
    restored = [key for key in theirs if key in own] + [key for key in own if key not in theirs]
    if restored != list(own):
        places = {key: at for at, key in enumerate(restored)}
        found.append(OrderEntry(place, digest(order_of(returned, keys)), [places[key] for key in own], keys))
