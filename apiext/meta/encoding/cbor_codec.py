"""CBOR of objects: the reference's deterministic encoding, and the rules of its decoder.

Mirrors apimachinery pkg/runtime/serializer/cbor (internal/modes).
"""

from __future__ import annotations

import base64
import io
import math
import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import cbor2

from apiext.meta import time
from apiext.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SELF_DESCRIBED: Final = 55799
PREFIX: Final = b"\xd9\xd9\xf7"
"""The tag SELF_DESCRIBED, which begins every document."""
_EMPTY_ITEMS: Final = b"\x45items\x80"
_ARRAY: Final = 4
"""The major type of arrays."""
_ARGUMENT: Final = 0x1F
"""Bits of an item's first byte: its length, or from _ONE_BYTE on the width of the length."""
_ONE_BYTE: Final = 24
_TIME: Final = (0, 1)
_BIGNUM: Final = (2, 3)
_LATER_TEXT: Final[dict[int, Callable[[bytes], str]]] = {
    21: lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode(),
    22: lambda data: base64.b64encode(data).decode(),
    23: lambda data: data.hex(),
}
"""Text of byte strings by the tag before them."""
_LIBRARY_TAGS: Final = (*_TIME, *_BIGNUM, 4, 5, 25, 28, 29, 30, 35, 36, 37, 100, 256, 258, 260, 261, 1004, 43000, SELF_DESCRIBED)
"""Tags that the library would decode to its own types."""
_KEEP_TAGS: Final = {tag: partial(lambda tag, value, _immutable: cbor2.CBORTag(tag, value), tag) for tag in _LIBRARY_TAGS}
_BAD_BYTE: Final = re.compile("[\udc80-\udcff]")
_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**63 - 1


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
    decoder = cbor2.CBORDecoder(
        file, semantic_decoders=_KEEP_TAGS, max_depth=MAX_DEPTH, allow_duplicate_keys=False, str_errors="surrogateescape"
    )
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
    if isinstance(value, dict):
        members = {_name(key): _plain(member) for key, member in value.items()}
        if len(members) < len(value):
            raise ValueError("cbor: a map has a key twice")
        return members
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _scalar(value)


def _name(key: Any) -> str:
    if key is not None and not isinstance(key, str | bytes | cbor2.CBORTag):
        raise ValueError("cbor: a key of a map is no text")
    return str(_scalar(key) or "")


def _scalar(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        if _BAD_BYTE.search(value):
            raise ValueError("cbor: invalid UTF-8 string")
    elif kind is bytes:
        return _BAD_BYTE.sub("\ufffd", value.decode("utf-8", "surrogateescape"))
    elif kind is int:
        if not _MIN_INT <= value <= _MAX_INT:
            raise ValueError(f"cbor: {value} is beyond int64")
    elif kind is float:
        if not math.isfinite(value):
            raise ValueError(f"cbor: a number is not finite: {value}")
    elif kind is cbor2.CBORTag:
        return _tagged(value.tag, value.value)
    elif value is not None and kind is not bool:
        raise ValueError(f"cbor: {value} has no JSON value")
    return value


def _tagged(tag: int, content: Any) -> Any:
    if tag in _BIGNUM:
        raise ValueError("cbor: a number is beyond int64")
    if tag in _LATER_TEXT and type(content) is bytes:
        return _LATER_TEXT[tag](content)
    value = _plain(content)
    return _time(value) if tag in _TIME else value


def _time(value: Any) -> str:
    """Return a time of the tags 0 and 1 in RFC 3339."""
    try:
        moment = time.parse(value) if isinstance(value, str) else datetime.fromtimestamp(value, UTC)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise ValueError(f"cbor: {value} is no time: {error}") from error
    text = moment.isoformat()
    whole, dot, zone = text.partition(".")
    if dot:
        digits = zone[:6].rstrip("0")
        text = f"{whole}.{digits}{zone[6:]}" if digits else whole + zone[6:]
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text
