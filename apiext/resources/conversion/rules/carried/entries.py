"""Entries of a carrier: values that one version of an object has, each bound to what a conversion makes of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apiext.base.meta.encoding import json_codec

ItemKey = tuple[tuple[str, Any], ...]
"""Key fields and their values, sorted, that one item of a list has and no other one."""
Step = str | ItemKey
"""A member of an object, or an item of a list."""
Place = tuple[Step, ...]
"""The way from an object to a value in it."""
KEY_TYPES: Final = (str, int)
ABSENT: Final = object()
"""Stands for a value that does not exist."""
MAX_STEPS: Final = 64
"""Steps of a place. What differs further below is carried as a whole."""
_DIGEST_BYTES: Final = 9
NO_DIGEST: Final = ""
"""The digest of ABSENT."""


@dataclass(frozen=True, slots=True)
class FieldEntry:
    """A field of an object, or an item of a list whose items have keys."""

    place: Place
    digest: str
    """Of the value that the conversion back makes there."""
    value: Any
    """ABSENT if the version has none."""


@dataclass(frozen=True, slots=True)
class ItemsEntry:
    """Items of a list whose items have no keys."""

    place: Place
    items: Mapping[str, Sequence[Any]]
    """By the digest of the item that the conversion back makes: the items that it stands for, in order."""


@dataclass(frozen=True, slots=True)
class OrderEntry:
    """The order of the items of a list."""

    place: Place
    digest: str
    """Of `order_of` the list that the conversion back makes."""
    order: Sequence[int]
    """For each item, its place in the list that the conversion back makes and the other entries change."""
    keys: Sequence[str]
    """The key fields of the items; empty if they have none."""


Entry = FieldEntry | ItemsEntry | OrderEntry


def digest(value: Any) -> str:
    """Return a short digest of a JSON value, or of ABSENT. Numbers count as JSON writes them: 1 and 1.0 are the same."""
    if value is ABSENT:
        return NO_DIGEST
    hashed = hashlib.blake2b(json_codec.dumps(value), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(hashed).decode()


def item_key(item: Any, keys: Sequence[str]) -> ItemKey | None:
    """Return the key of an item, None if it is no object, has none of the fields, or a value of another type in one of them."""
    if type(item) is not dict:
        return None
    if len(keys) == 1:
        # the usual case
        value = item.get(keys[0])
        return ((keys[0], value),) if type(value) is str or type(value) is int else None
    found = tuple((name, item[name]) for name in keys if name in item)
    return found if found and all(type(value) in KEY_TYPES for _, value in found) else None


def by_key(items: Sequence[Any], keys: Sequence[str]) -> dict[ItemKey, Any] | None:
    """Return items by their key, None if an item has no key or not its own."""
    found = {}
    for item in items:
        key = item_key(item, keys)
        if key is None:
            return None
        found[key] = item
    return found if len(found) == len(items) else None


def order_of(items: Sequence[Any], keys: Sequence[str]) -> list[Any]:
    """Return what an OrderEntry's digest is about: the values of the key fields of each item, or the items."""
    if not keys:
        return list(items)
    return [[item.get(name) for name in keys] if type(item) is dict else item for item in items]
