"""The JSON form of entries: short arrays, because an annotation holds them.

    ["f", place, digest, value]     a field; without a value where it is absent
    ["i", place, {digest: [item]}]  items
    ["o", place, digest, order]     the order of a list; with the key fields at the end where items have keys

A place is an array of names of fields, and of objects of key fields for items.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from apiext.base.meta.encoding import json_values
from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.conversion.rules.carried.entries import (
    ABSENT,
    KEY_TYPES,
    MAX_STEPS,
    Entry,
    FieldEntry,
    ItemsEntry,
    OrderEntry,
    Place,
    Step,
)


class MalformedEntryError(ValueError):
    """No conversion wrote this entry."""


def to_document(entry: Entry) -> list[Any]:
    """Return the JSON form of an entry."""
    place = [step if isinstance(step, str) else dict(step) for step in entry.place]
    if isinstance(entry, FieldEntry):
        return ["f", place, entry.digest] if entry.value is ABSENT else ["f", place, entry.digest, entry.value]
    if isinstance(entry, ItemsEntry):
        return ["i", place, dict(entry.items)]
    return ["o", place, entry.digest, list(entry.order), *([list(entry.keys)] if entry.keys else [])]


def from_documents(documents: Any) -> tuple[Entry, ...]:
    """Return the entries of one version.

    The places of fields and items do not lead through one another, so that all of them together concern each value once.

    Raises:
        MalformedEntryError: a conversion cannot have written them.
    """
    if type(documents) is not list:
        raise MalformedEntryError
    entries = tuple(map(_entry, documents))
    if len(entries) == 1:
        return entries
    orders = [entry.place for entry in entries if isinstance(entry, OrderEntry)]
    if len(set(orders)) < len(orders):
        raise MalformedEntryError
    _check_separate([entry.place for entry in entries if not isinstance(entry, OrderEntry)])
    return entries


def _entry(document: Any) -> Entry:
    if type(document) is not list or not 3 <= len(document) <= 5:
        raise MalformedEntryError
    kind, place, *rest = document
    steps = _place(place)
    if kind == "i" and len(rest) == 1:
        return ItemsEntry(steps, _items(rest[0]))
    if type(rest[0]) is not str:
        raise MalformedEntryError
    if kind == "f" and len(rest) <= 2:
        if len(rest) == 2 and json_values.is_deeper(rest[1], MAX_DEPTH - len(steps)):
            raise MalformedEntryError
        return FieldEntry(steps, rest[0], rest[1] if len(rest) == 2 else ABSENT)
    if kind == "o" and len(rest) >= 2:
        return OrderEntry(steps, rest[0], _order(rest[1]), _names(rest[2]) if len(rest) == 3 else ())
    raise MalformedEntryError


def _place(document: Any) -> Place:
    if type(document) is not list or not 0 < len(document) <= MAX_STEPS:
        raise MalformedEntryError
    return tuple(map(_step, document))


def _step(document: Any) -> Step:
    if type(document) is str:
        return document
    if type(document) is dict and document and all(type(value) in KEY_TYPES for value in document.values()):
        return tuple(sorted(document.items()))
    raise MalformedEntryError


def _items(document: Any) -> dict[str, list[Any]]:
    if type(document) is not dict or not all(type(items) is list for items in document.values()):
        raise MalformedEntryError
    if json_values.is_deeper(document, MAX_DEPTH):
        raise MalformedEntryError
    return document


def _order(document: Any) -> list[int]:
    if type(document) is not list or not all(type(place) is int for place in document) or sorted(document) != list(range(len(document))):
        raise MalformedEntryError
    return document


def _names(document: Any) -> list[str]:
    if type(document) is not list or not document or not all(type(name) is str for name in document):
        raise MalformedEntryError
    return document


def _check_separate(places: list[Place]) -> None:
    """Raise MalformedEntryError if a place equals another one or leads through it."""
    root: dict[Hashable, Any] = {}
    for place in places:
        node = root
        for step in place[:-1]:
            below = node.setdefault(step, {})
            if below is None:
                raise MalformedEntryError
            node = below
        if place[-1] in node:
            raise MalformedEntryError
        node[place[-1]] = None
