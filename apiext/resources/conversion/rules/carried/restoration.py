"""Restores what entries carry, where the values that they were bound to are unchanged.

Entries may come from a client that wrote the annotation itself: values get the types of the schema, and no entry concerns the
identity of the object. What does not fit is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.field import Path
from apiext.base.meta.objectmeta.validation import validate_annotations, validate_labels
from apiext.resources.conversion.rules.carried.difference import IDENTITY, TEXTS
from apiext.resources.conversion.rules.carried.entries import (
    ABSENT,
    Entry,
    FieldEntry,
    ItemKey,
    ItemsEntry,
    OrderEntry,
    Place,
    Step,
    digest,
    item_key,
    order_of,
)
from apiext.resources.conversion.rules.carried.schema_nodes import ANYTHING, NOTHING, TEXT, child, is_typed, items_of
from apiext.resources.conversion.rules.model import CARRIED
from apiext.schema.defaulting.algorithm import prune_non_nullable_nulls_without_defaults
from apiext.schema.pruning import prune

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Structural

_CHECKS: Final = dict(zip(TEXTS, (validate_labels, validate_annotations), strict=True))
_NO_PATH: Final = Path("metadata")
_NESTED: Final[frozenset[type]] = frozenset({dict, list})


def restore(obj: Object, entries: Sequence[Entry], schema: Structural) -> tuple[Entry, ...]:
    """Apply entries to a converted object of their version, in place. Return those that applied, as far as they did.

    What they change in the object is copied first: other objects may share it. Their values may be pruned by the schema.
    """
    _detach(obj, entries)
    return _Restoration(obj, schema).run(entries)


def _detach(obj: Object, entries: Sequence[Entry]) -> None:
    """Copy, once each, the members of the object that entries concern, and the members of these that they lead into."""
    own: set[Place] = set()
    for entry in entries:
        place, name = entry.place, entry.place[0]
        if not isinstance(name, str) or type(obj.get(name)) not in _NESTED:
            continue
        if place[:1] not in own:
            own.add(place[:1])
            obj[name] = obj[name].copy() if type(obj[name]) is dict else json_values.copy(obj[name])
        holder, below = obj[name], place[1] if len(place) > 1 else None
        if isinstance(below, str) and type(holder) is dict and place[:2] not in own and type(holder.get(below)) in _NESTED:
            own.add(place[:2])
            holder[below] = json_values.copy(holder[below])


class _Index:
    """The places of the items of a list by their key. Items that are to be removed leave a gap until the end."""

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        self.items = items
        self.keys = keys
        self.has_gaps = False
        self.places: defaultdict[ItemKey, list[int]] = defaultdict(list)
        for place, item in enumerate(items):
            key = item_key(item, keys)
            if key is not None:
                self.places[key].append(place)


class _Restoration:
    """The restoration of one object."""

    def __init__(self, obj: Object, schema: Structural) -> None:
        self._obj = obj
        self._schema = schema
        self._indexes: dict[int, _Index] = {}
        """By the id of a list. Items of a list have one set of key fields."""

    def run(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        ordered = {place: items for place, entry in enumerate(entries) if (items := self._ordered(entry)) is not None}
        applied = [self._applied(entry) for entry in entries]
        for index in self._indexes.values():
            if index.has_gaps:
                index.items[:] = [item for item in index.items if item is not ABSENT]
        for place, items in ordered.items():
            entry = entries[place]
            if isinstance(entry, OrderEntry) and len(items) == len(entry.order):
                items[:] = [items[at] for at in entry.order]
                applied[place] = entry
        return tuple(entry for entry in applied if entry is not None)

    def _applied(self, entry: Entry) -> Entry | None:
        """Apply an entry, and return what of it applied; None if nothing did, or later."""
        if isinstance(entry, FieldEntry):
            is_restored = self._texts(entry) if entry.place[0] == "metadata" else self._field(entry)
            return entry if is_restored else None
        return self._items(entry) if isinstance(entry, ItemsEntry) else None

    # --- places -----------------------------------------------------------------------------------------------------------

    def _found(self, place: Place) -> tuple[Any, Structural]:
        """Return the value at a place and its schema; ABSENT if there is none."""
        value: Any = self._obj
        schema = self._schema
        if place and place[0] in IDENTITY:
            return ABSENT, NOTHING
        for step in place:
            schema = _below(schema, step)
            value = self._member(value, step)
            if value is ABSENT:
                break
        return value, schema

    def _member(self, value: Any, step: Step) -> Any:
        if isinstance(step, str):
            return value.get(step, ABSENT) if type(value) is dict else ABSENT
        places = self._places(value, step) if type(value) is list else []
        return value[places[0]] if len(places) == 1 else ABSENT

    def _places(self, items: list[Any], step: ItemKey) -> list[int]:
        """Return the places of the items with a key."""
        index = self._indexes.get(id(items))
        if index is None:
            index = self._indexes[id(items)] = _Index(items, tuple(name for name, _ in step))
        return index.places.get(step, [])

    # --- fields and items with keys ---------------------------------------------------------------------------------------

    def _field(self, entry: FieldEntry) -> bool:
        parent, schema = self._found(entry.place[:-1])
        step = entry.place[-1]
        if len(entry.place) == 1 and step in IDENTITY:
            return False
        if not _fits(entry.value, _below(schema, step)) or (entry.value is None and not _keeps_null(_below(schema, step), step)):
            return False
        present = self._member(parent, step)
        if digest(present) != entry.digest:
            return False
        if isinstance(step, tuple):
            return isinstance(parent, list) and self._set_item(parent, step, entry.value, present)
        if not isinstance(parent, dict):
            return False
        _set(parent, step, entry.value)
        return True

    def _set_item(self, items: list[Any], step: ItemKey, value: Any, present: Any) -> bool:
        index, places = self._indexes[id(items)], self._places(items, step)
        if value is not ABSENT and item_key(value, index.keys) != step:
            return False
        if present is ABSENT:
            if places or value is ABSENT:
                return False
            index.places[step].append(len(items))
            items.append(value)
        else:
            items[places[0]] = value
            index.has_gaps |= value is ABSENT
        return True

    def _texts(self, entry: FieldEntry) -> bool:
        """Restore a label or an annotation."""
        if len(entry.place) != 3:
            return False
        _, member, name = entry.place
        if not isinstance(member, str) or not isinstance(name, str) or member not in TEXTS or name == CARRIED:
            return False
        texts = self._obj["metadata"].get(member) or {}
        if digest(texts.get(name, ABSENT)) != entry.digest:
            return False
        if entry.value is not ABSENT and (not is_typed(entry.value, TEXT) or any(_CHECKS[member]({name: entry.value}, _NO_PATH))):
            return False
        _set(texts, name, entry.value)
        _set(self._obj["metadata"], member, texts or ABSENT)
        return True

    # --- other lists ------------------------------------------------------------------------------------------------------

    def _items(self, entry: ItemsEntry) -> ItemsEntry | None:
        items, schema = self._found(entry.place)
        if type(items) is not list:
            return None
        item_schema = items_of(schema)
        places = defaultdict(list)
        for place, item in enumerate(items):
            places[digest(item)].append(place)
        restored: dict[str, Sequence[Any]] = {}
        for known, originals in entry.items.items():
            found = places.get(known, [])
            # of several that look alike, one is missing: which, nobody knows
            if len(found) != len(originals) and any(item != originals[0] for item in originals):
                continue
            if found and all(_fits(item, item_schema) for item in originals):
                for place, item in zip(found, originals, strict=False):
                    items[place] = item
                restored[known] = originals[: len(found)]
        return entry if restored == entry.items else ItemsEntry(entry.place, restored) if restored else None

    def _ordered(self, entry: Entry) -> list[Any] | None:
        """Return the list whose order is to be restored after all other entries, if it is as the conversion made it."""
        if not isinstance(entry, OrderEntry):
            return None
        items, _ = self._found(entry.place)
        return items if type(items) is list and digest(order_of(items, entry.keys)) == entry.digest else None


def _below(schema: Structural, step: Step) -> Structural:
    return child(schema, step) if isinstance(step, str) else items_of(schema)


def _set(parent: dict[str, Any], name: Any, value: Any) -> None:
    if value is ABSENT:
        parent.pop(name, None)
    else:
        parent[name] = value


def _keeps_null(schema: Structural, step: Step) -> bool:
    """Return whether decoding leaves a null in place; a null item of a list stays."""
    return schema.nullable or schema is ANYTHING or schema.default is not None or not isinstance(step, str)


def _fits(value: Any, schema: Structural) -> bool:
    """Prune a value by its schema, with the nulls that it does not allow. Return whether it then has the schema's types."""
    if schema is NOTHING:
        return value is ABSENT
    if value is ABSENT:
        return True
    if type(value) is dict or type(value) is list:
        prune(value, schema, report=False)
        prune_non_nullable_nulls_without_defaults(value, schema)
    return is_typed(value, schema)
