"""The annotation of a carrier: compact, canonical, and hostile until proven otherwise."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Collection, Hashable, Mapping
from contextlib import suppress
from typing import Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_codec import Object
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
from apiext.resources.conversion.rules.model import CARRIED

MAX_CARRIED_BYTES: Final = 64 * 1024
"""Bytes of the annotation's value."""
MAX_CARRIED_JSON_BYTES: Final = 1024 * 1024
"""Bytes of the entries before they are compressed; parsing them takes about 4 ms."""
_MAX_PLAIN_BYTES: Final = 2048
"""Bytes up to which entries are not compressed: a person can read them."""
_COMPRESSED: Final = "z1:"
TOO_LARGE: Final = "too large"
IRREVERSIBLE: Final = "irreversible"
_REFUSALS: Final = frozenset({TOO_LARGE, IRREVERSIBLE})
_OWNED: Final = "/owned"
"""Ends the key of the owned fields of a version; no version has a slash."""

Carried = dict[str, tuple[Entry, ...] | str]
"""Entries by the version that has them. Instead of entries, the reason why they could not be carried: the object must not return there."""
Owned = dict[str, tuple[Place, ...]]
"""Fields with entries, or of those that were just restored, that had a manager of their version when they were carried."""


class MalformedEntryError(ValueError):
    """No conversion wrote this entry."""


def to_document(entry: Entry) -> list[Any]:
    """Return the JSON form of an entry."""
    place = _steps(entry.place)
    if isinstance(entry, FieldEntry):
        return ["f", place, entry.digest] if entry.value is ABSENT else ["f", place, entry.digest, entry.value]
    if isinstance(entry, ItemsEntry):
        return ["i", place, dict(entry.items)]
    return ["o", place, entry.digest, list(entry.order), *([list(entry.keys)] if entry.keys else [])]


def _steps(place: Place) -> list[Any]:
    return [step if isinstance(step, str) else dict(step) for step in place]


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


class CarrierSizeError(ValueError):
    """Entries exceed a limit. The text has the size and the limit."""


def of(metadata: Object) -> str | None:
    """Return the annotation's value in the metadata of an object."""
    annotations = metadata.get("annotations")
    text = annotations.get(CARRIED) if type(annotations) is dict else None
    return text if type(text) is str else None


def take(obj: Object) -> str | None:
    """Remove the annotation from an object and return its value. The metadata is replaced, not changed."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations")
    if type(annotations) is not dict or CARRIED not in annotations:
        return None
    left, metadata = annotations.copy(), metadata.copy()
    text = left.pop(CARRIED)
    if left:
        metadata["annotations"] = left
    else:
        del metadata["annotations"]
    obj["metadata"] = metadata
    return text if type(text) is str else None


def put(obj: Object, text: str) -> None:
    """Set the annotation of an object. The metadata is replaced, not changed."""
    metadata = obj["metadata"]
    annotations = metadata.get("annotations")
    obj["metadata"] = metadata | {"annotations": (annotations if type(annotations) is dict else {}) | {CARRIED: text}}


def parse(text: str, versions: Collection[str], *, marked: bool) -> Carried:
    """Return what an annotation carries for the named versions. What no conversion can have written is left out.

    Unless `marked`, that includes the marks of what was not carried: no object with one is stored.
    """
    document = _document(text)
    carried: Carried = {}
    if type(document) is not dict:
        return carried
    for version, found in document.items():
        if version not in versions:
            continue
        if type(found) is str:
            if marked and found in _REFUSALS:
                carried[version] = found
            continue
        try:
            carried[version] = from_documents(found)
        except MalformedEntryError:
            continue
    return carried


def parse_owned(text: str, versions: Collection[str]) -> Owned:
    """Return the owned fields that an annotation names for some versions."""
    document = _document(text)
    owned: Owned = {}
    if type(document) is not dict:
        return owned
    for version in versions:
        places = document.get(version + _OWNED)
        with suppress(MalformedEntryError):
            owned[version] = tuple(map(_place, places)) if type(places) is list else ()
    return {version: places for version, places in owned.items() if places}


def _document(text: str) -> object:
    if len(text) > MAX_CARRIED_BYTES:
        return None
    try:
        if not text.startswith(_COMPRESSED):
            return json_codec.loads(text.encode())
        compressed = base64.b64decode(text.removeprefix(_COMPRESSED), validate=True)
        inflation = zlib.decompressobj()
        data = inflation.decompress(compressed, MAX_CARRIED_JSON_BYTES)
        return json_codec.loads(data) if inflation.eof else None
    except (ValueError, binascii.Error, zlib.error):
        return None


def text_of(carried: Carried, owned: Owned | None = None) -> str:
    """Return the annotation's value. Equal entries give equal text. The owned fields are left out where they would exceed the limit.

    Raises:
        CarrierSizeError: it would exceed the limit.
    """
    document = _documents(carried)
    if owned:
        with suppress(CarrierSizeError):
            return _text(document | {version + _OWNED: list(map(_steps, places)) for version, places in owned.items()})
    return _text(document)


def replaced(text: str, carried: Carried) -> str | None:
    """Return an annotation's value with other entries for some versions, None if nothing is left. What it has for others stays.

    Raises:
        CarrierSizeError: it would exceed the limit.
    """
    document = _document(text)
    left = (document if type(document) is dict else {}) | _documents(carried)
    left = {version: found for version, found in left.items() if found}
    return _text(left) if left else None


def _documents(carried: Carried) -> dict[str, Any]:
    return {version: found if isinstance(found, str) else list(map(to_document, found)) for version, found in carried.items()}


def _text(document: Mapping[str, Any]) -> str:
    data = json_codec.dumps(document)
    if len(data) <= _MAX_PLAIN_BYTES:
        return data.decode()
    if len(data) > MAX_CARRIED_JSON_BYTES:
        raise CarrierSizeError(f"{len(data)} bytes, and at most {MAX_CARRIED_JSON_BYTES} can be carried")
    text = _COMPRESSED + base64.b64encode(zlib.compress(data)).decode()
    if len(text) > MAX_CARRIED_BYTES:
        raise CarrierSizeError(f"{len(text)} bytes compressed, and at most {MAX_CARRIED_BYTES} can be carried")
    return text
