"""CBOR of objects: the reference's deterministic encoding, and the rules of its decoder.

Mirrors apimachinery pkg/runtime/serializer/cbor (internal/modes).
"""

from __future__ import annotations

import io
import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import cbor2

from apiext.base.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SELF_DESCRIBED: Final = 55799
PREFIX: Final = b"\xd9\xd9\xf7"
"""The tag SELF_DESCRIBED, which begins every document."""
_EMPTY_ITEMS: Final = b"\x45items\x80"
_ARRAY: Final = 4
"""The major type of arrays."""
_ARGUMENT: Final = 0x1F
"""Bits of an item's first byte: its length, or from _ONE_BYTE on the width of the length."""
_ONE_BYTE: Final = 24
_LIBRARY_TAGS: Final = (0, 1, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 100, 256, 258, 260, 261, 1004, 43000)
"""Tags that the library would decode to its own types: times, large numbers and others."""
_SCALARS: Final = frozenset({str, bool, int, float})
_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**63 - 1


def _refuse(tag: int, _value: object, _immutable: object) -> object:
    raise ValueError(f"tag {tag} has no JSON value")


def _itself(value: object, _immutable: object) -> object:
    return value


_TAGS: Final = {tag: partial(_refuse, tag) for tag in _LIBRARY_TAGS} | {SELF_DESCRIBED: _itself}


class TooDeepError(ValueError):
    """CBOR nested deeper than MAX_DEPTH."""


def dumps(value: Any) -> bytes:
    """Return a JSON value as a document: strings as byte strings, sorted keys, each item in its shortest form."""
    return PREFIX + cbor2.dumps(_wire(value), canonical=True)


def dumps_event(event: Mapping[str, Any]) -> bytes:
    """Return a watch event as one item of a sequence; its object is a document too."""
    return dumps({**event, "object": cbor2.CBORTag(SELF_DESCRIBED, _wire(event["object"]))})


def joined_lists(frame: bytes, lists: Sequence[bytes]) -> list[bytes]:
    """Return an object's document with the items of several lists, each a document, in place of its empty `items`."""
    before, name, after = frame.partition(_EMPTY_ITEMS)
    count, contents = 0, []
    for data in lists:
        file = io.BytesIO(data)
        file.seek(len(PREFIX))
        first = file.read(1)[0] & _ARGUMENT
        width = 0 if first < _ONE_BYTE else 1 << (first - _ONE_BYTE)
        count += int.from_bytes(file.read(width)) if width else first
        contents.append(file.read())
    head = io.BytesIO()
    cbor2.CBOREncoder(head).encode_length(_ARRAY, count)
    return [before, name[:-1], head.getvalue(), *contents, after]


def _wire(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key.encode(): _wire(member) for key, member in value.items()}
    if kind is list:
        return [_wire(item) for item in value]
    if kind is str:
        return value.encode()
    # integers beyond int64 are floats in Go
    return float(value) if kind is int and not _MIN_INT <= value <= _MAX_INT else value


def loads(data: bytes) -> Any:
    """Return the JSON value of CBOR.

    Raises:
        TooDeepError: the data is nested deeper than MAX_DEPTH.
        ValueError: it is no CBOR, has a key twice, or an item has no JSON value.
    """
    start = len(PREFIX) if data.startswith(PREFIX) else 0
    file = io.BytesIO(data)
    file.seek(start)
    decoder = cbor2.CBORDecoder(file, semantic_decoders=_TAGS, max_depth=MAX_DEPTH, allow_duplicate_keys=False)
    try:
        value = decoder.decode()
    except cbor2.CBORDecodeError as error:
        if "nesting depth" in str(error):
            raise TooDeepError(f"nested deeper than {MAX_DEPTH} levels") from error
        raise ValueError(f"cbor: {error}") from error
    if rest := len(data) - file.tell():
        raise ValueError(f"cbor: {rest} bytes of extraneous data starting at index {file.tell()}")
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return the JSON value of what the library decoded. Raises ValueError."""
    kind = type(value)
    if kind is dict:
        members = {_text(key): _plain(member) for key, member in value.items()}
        if len(members) < len(value):
            raise ValueError("cbor: a map has a key twice")
        return members
    if kind is list:
        return [_plain(item) for item in value]
    if kind is bytes:
        return _text(value)
    if (kind is int and not _MIN_INT <= value <= _MAX_INT) or (kind is float and not math.isfinite(value)):
        raise ValueError(f"cbor: {value} is no number of JSON")
    if value is not None and kind not in _SCALARS:
        raise ValueError(f"cbor: {value} has no JSON value")
    return value


def _text(value: Any) -> str:
    """Return a text; U+FFFD stands for bytes that are not UTF-8. Raises ValueError for another key of a map."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not isinstance(value, str):
        raise ValueError("cbor: a key of a map is no text")  # noqa: TRY004 -- malformed data
    return value
