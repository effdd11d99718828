"""What an object loses by a conversion there and back, as entries that restore it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from apiext.conversion.rules.carried.entries import (
    ABSENT,
    MAX_STEPS,
    NO_DIGEST,
    Entry,
    FieldEntry,
    ItemsEntry,
    OrderEntry,
    Place,
    digest,
    order_of,
)
from apiext.conversion.rules.carried.list_items import MatchedItems, correspond, keyed_items, permutation, same
from apiext.conversion.rules.carried.schema_nodes import ANYTHING, child, items_of
from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object
    from apiext.schema.model import Structural

IDENTITY: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Members of an object that no entry concerns as a whole."""
TEXTS: Final = ("labels", "annotations")
"""Members of the metadata whose texts rules may change."""
_COMPARED_STEPS: Final = 6
"""Steps of a place down to which lists are compared as a whole first, which is fast. Further below, each item is visited once."""


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
