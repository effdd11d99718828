"""CBOR of objects: the reference's deterministic encoding, and the rules of its decoder.

Mirrors apimachinery pkg/runtime/serializer/cbor (internal/modes), whose error texts are kept.
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
from apiext.meta.encoding.cbor_duplicates import place_of_duplicate
from apiext.meta.golang import formatting
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
_UNDEFINED: Final = 23
"""The simple value undefined."""
_DUPLICATE: Final = re.compile(r"Duplicate map key: b?['\"](.*)['\"]$", re.DOTALL)
_NOT_ACCEPTED: Final = "cbor: data item of cbor type {} is not accepted by protocol: {}"
_TYPE_NAMES: Final = {
    bool: "primitives",
    float: "primitives",
    list: "array",
    tuple: "array",
    bytes: "byte string",
    str: "UTF-8 text string",
}


class MalformedError(ValueError):
    """Data that is no CBOR, or has an item that the reference rejects before it knows the kind."""


class ValueRejectedError(ValueError):
    """CBOR with an item that objects cannot have. `document` is the data as `parse` returns it."""

    def __init__(self, text: str, document: Any = None) -> None:
        super().__init__(text)
        self.document = document


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
        MalformedError: the data is no CBOR.
        ValueRejectedError: an item has no JSON value.
        TooDeepError: the data is nested deeper than MAX_DEPTH.
    """
    return plain(parse(data))


def parse(data: bytes) -> Any:
    """Return CBOR as the library decodes it: byte strings are bytes, and tags are kept.

    Raises:
        MalformedError: the data is no CBOR.
        ValueRejectedError: a map has a key twice.
        TooDeepError: the data is nested deeper than MAX_DEPTH.
    """
    if not data:
        raise MalformedError("EOF")
    start = len(PREFIX) if data.startswith(PREFIX) else 0
    try:
        value, end = _decoded(data[start:], duplicates=False)
    except cbor2.CBORDecodeEOF:
        raise MalformedError("unexpected EOF") from None
    except cbor2.CBORDecodeError as error:
        if duplicate := _DUPLICATE.search(str(error)):
            text = _duplicate_key(duplicate[1], place_of_duplicate(data[start:]))
            raise ValueRejectedError(text, _decoded(data[start:], duplicates=True)[0]) from error
        if "nesting depth" in str(error):
            raise TooDeepError(f"nested deeper than {MAX_DEPTH} levels") from error
        broken = "break code" in str(error)
        raise MalformedError('cbor: unexpected "break" code' if broken else f"cbor: {error}") from error
    if rest := len(data) - start - end:
        raise MalformedError(f"cbor: {rest} bytes of extraneous data starting at index {start + end}")
    return value


def _decoded(data: bytes, *, duplicates: bool) -> tuple[Any, int]:
    """Return the first item and the offset of its end."""
    file = io.BytesIO(data)
    decoder = cbor2.CBORDecoder(
        file, semantic_decoders=_KEEP_TAGS, max_depth=MAX_DEPTH, allow_duplicate_keys=duplicates, str_errors="surrogateescape"
    )
    value = decoder.decode()
    return value, file.tell()


def plain(value: Any) -> Any:
    """Return the JSON value of what `parse` returned.

    Raises:
        MalformedError: a number is too large or not finite.
        ValueRejectedError: another item has no JSON value.
    """
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for place, (key, member) in enumerate(value.items()):
            name = _name(key)
            if name in members:
                raise ValueRejectedError(_duplicate_key(name, place))
            members[name] = plain(member)
        return members
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _scalar(value)


def _duplicate_key(name: str, place: int) -> str:
    return f"cbor: found duplicate map key {formatting.quote(name)} at map element index {place}"


def _name(key: Any) -> str:
    if isinstance(key, dict | list | tuple) or type(key) in (bool, int, float):
        raise ValueRejectedError(f"cbor: cannot unmarshal {type_name(key)} into Go value of type string")
    name = _scalar(key)
    return name if name is not None else ""


def _scalar(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        if _BAD_BYTE.search(value):
            raise ValueRejectedError("cbor: invalid UTF-8 string")
    elif kind is bytes:
        return _BAD_BYTE.sub("\ufffd", value.decode("utf-8", "surrogateescape"))
    elif kind is int:
        if not _MIN_INT <= value <= _MAX_INT:
            raise ValueRejectedError(
                f"cbor: cannot unmarshal {type_name(value)} into Go value of type int64 ({value} overflows Go's int64)"
            )
    elif kind is float:
        if not math.isfinite(value):
            shown = "NaN" if math.isnan(value) else "infinity"
            raise MalformedError(_NOT_ACCEPTED.format("primitives", f"floating-point {shown}"))
    elif kind is cbor2.CBORTag:
        return _tagged(value.tag, value.value)
    elif value is not None and kind is not bool:
        number = value.value if kind is cbor2.CBORSimpleValue else _UNDEFINED
        raise ValueRejectedError(_NOT_ACCEPTED.format("primitives", f"simple value {number} is not recognized"))
    return value


def _tagged(tag: int, content: Any) -> Any:
    if tag in _BIGNUM:
        raise MalformedError(_NOT_ACCEPTED.format("tag", "bignum"))
    if tag in _LATER_TEXT and type(content) is bytes:
        return _LATER_TEXT[tag](content)
    value = plain(content)
    return _time(value) if tag in _TIME else value


def _time(value: Any) -> str:
    """Return a time of the tags 0 and 1 in RFC 3339."""
    try:
        moment = time.parse(value) if isinstance(value, str) else datetime.fromtimestamp(value, UTC)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise ValueRejectedError(f"cbor: cannot set {value} for time.Time: {error}") from error
    text = moment.isoformat()
    whole, dot, zone = text.partition(".")
    if dot:
        digits = zone[:6].rstrip("0")
        text = f"{whole}.{digits}{zone[6:]}" if digits else whole + zone[6:]
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def type_name(value: Any) -> str:
    """Return the name of an item's type in the reference's errors."""
    if type(value) is int:
        return "positive integer" if value >= 0 else "negative integer"
    return _TYPE_NAMES.get(type(value), "map" if isinstance(value, dict) else "tag")
