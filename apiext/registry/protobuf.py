"""Reading protobuf, as kube-apiserver stores it and client-go sends it: built-in types only, custom resources are JSON.

Mirrors apimachinery pkg/runtime/serializer/protobuf: the prefix "k8s" with a zero byte, a runtime.Unknown, and the object in it.
"""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import time, wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.meta.wire import Object

PREFIX: Final = b"k8s\x00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_SECONDS: Final = -62135596800
"""What a zero time is in seconds since the epoch."""
_EXACT: Final = 2**53
"""Up to here, a float is exactly the integer that it looks like."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Scalar(Enum):
    """What a field holds."""

    TEXT = auto()
    INT = auto()
    BOOL = auto()
    TIME = auto()
    MICRO_TIME = auto()
    FLOAT = auto()
    BASE64 = auto()
    """Bytes, which JSON has in base64."""
    JSON = auto()
    """A message that wraps JSON text."""
    MAP = auto()
    """An entry of a map of texts."""


class Message:
    """A message type: field number -> name in JSON and content."""

    __slots__ = ("fields", "repeated")

    def __init__(self, fields: Mapping[int, tuple[str, Scalar | Message]], repeated: frozenset[str] | set[str] = frozenset()) -> None:
        self.define(fields, repeated)

    def define(self, fields: Mapping[int, tuple[str, Scalar | Message]], repeated: frozenset[str] | set[str] = frozenset()) -> None:
        """Set the fields; a type that contains itself is made without them first."""
        self.fields = fields
        self.repeated = frozenset(repeated)

    def read(self, data: bytes) -> Object:
        """The message as JSON. Raises ValueError."""
        out: Object = {}
        for number, raw in _members(data):
            if number not in self.fields:
                continue
            name, content = self.fields[number]
            if content is Scalar.MAP:
                entry = _ENTRY.read(_expect(raw))
                out.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
                continue
            if isinstance(content, MapOf):
                out.setdefault(name, {}).update([content.entry(_expect(raw))])
                continue
            value = content.read(_expect(raw)) if isinstance(content, Message) else _scalar(content, raw)
            if name in self.repeated:
                out.setdefault(name, []).append(value)
            else:
                out[name] = value
        return out


class MapOf(Message):
    """A map from texts to messages."""

    __slots__ = ("_entry",)

    def __init__(self, value: Message) -> None:
        super().__init__({})
        self._entry = Message({1: ("key", Scalar.TEXT), 2: ("value", value)})

    def entry(self, data: bytes) -> tuple[str, Any]:
        """One member of the map. Raises ValueError."""
        entry = self._entry.read(data)
        return entry.get("key", ""), entry.get("value", {})


def read(data: bytes, message: Message) -> Object:
    """A stored object, with its kind and apiVersion. Raises ValueError."""
    envelope = _ENVELOPE.read(data.removeprefix(PREFIX))
    obj = envelope.get("typeMeta", {})
    raw: bytes = envelope.get("raw", b"")
    return {**obj, **message.read(raw)}


def _members(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, position = _varint(data, position)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            msg = f"protobuf: unknown wire type {kind}"
            raise ValueError(msg)
        if position + size > len(data):
            raise ValueError("unexpected EOF")
        yield tag >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("unexpected EOF")


def _expect(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("protobuf: a number where a message should be")  # noqa: TRY004
    return raw


def _signed(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def _scalar(kind: Scalar, raw: int | bytes) -> Any:
    if kind is Scalar.INT or kind is Scalar.BOOL:
        if not isinstance(raw, int):
            raise ValueError("protobuf: a message where a number should be")
        return bool(raw) if kind is Scalar.BOOL else _signed(raw)
    data = _expect(raw)
    if kind is Scalar.TEXT:
        return data.decode()
    if kind is Scalar.FLOAT:
        return _float(data)
    if kind is Scalar.BASE64:
        return base64.b64encode(data).decode()
    if kind is Scalar.JSON:
        wrapped = _JSON.read(data).get("raw", b"")
        return wire.loads(wrapped) if wrapped else None
    return _time(data, micro=kind is Scalar.MICRO_TIME)


def _float(data: bytes) -> float | int:
    """The number as JSON has it: without a fraction where it has none."""
    if len(data) != 8:
        raise ValueError("protobuf: a number of the wrong size")
    number: float = struct.unpack("<d", data)[0]
    return int(number) if number.is_integer() and abs(number) < _EXACT else number


def _time(data: bytes, *, micro: bool) -> str | None:
    moment = _TIMESTAMP.read(data)
    seconds, nanos = moment.get("seconds", 0), moment.get("nanos", 0)
    if not data or seconds == _ZERO_SECONDS:
        return None
    try:
        text = time.written(_EPOCH + timedelta(seconds=seconds))
    except OverflowError as error:
        raise ValueError("protobuf: a time out of range") from error
    return f"{text[:-1]}.{nanos // 1000:06}Z" if micro else text


class _Raw(Message):
    """A message whose bytes are wanted as they are."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """The bytes."""
        return data


_BYTES_OF: Final = _Raw({})
_ENTRY: Final = Message({1: ("key", Scalar.TEXT), 2: ("value", Scalar.TEXT)})
_JSON: Final = Message({1: ("raw", _BYTES_OF)})
_TIMESTAMP: Final = Message({1: ("seconds", Scalar.INT), 2: ("nanos", Scalar.INT)})
_ENVELOPE: Final = Message({1: ("typeMeta", Message({1: ("apiVersion", Scalar.TEXT), 2: ("kind", Scalar.TEXT)})), 2: ("raw", _BYTES_OF)})

_OWNER: Final = Message(
    {
        1: ("kind", Scalar.TEXT),
        3: ("name", Scalar.TEXT),
        4: ("uid", Scalar.TEXT),
        5: ("apiVersion", Scalar.TEXT),
        6: ("controller", Scalar.BOOL),
        7: ("blockOwnerDeletion", Scalar.BOOL),
    }
)
_MANAGED: Final = Message(
    {
        1: ("manager", Scalar.TEXT),
        2: ("operation", Scalar.TEXT),
        3: ("apiVersion", Scalar.TEXT),
        4: ("time", Scalar.TIME),
        6: ("fieldsType", Scalar.TEXT),
        7: ("fieldsV1", Scalar.JSON),
        8: ("subresource", Scalar.TEXT),
    }
)
METADATA: Final = Message(
    {
        1: ("name", Scalar.TEXT),
        2: ("generateName", Scalar.TEXT),
        3: ("namespace", Scalar.TEXT),
        4: ("selfLink", Scalar.TEXT),
        5: ("uid", Scalar.TEXT),
        6: ("resourceVersion", Scalar.TEXT),
        7: ("generation", Scalar.INT),
        8: ("creationTimestamp", Scalar.TIME),
        9: ("deletionTimestamp", Scalar.TIME),
        10: ("deletionGracePeriodSeconds", Scalar.INT),
        11: ("labels", Scalar.MAP),
        12: ("annotations", Scalar.MAP),
        13: ("ownerReferences", _OWNER),
        14: ("finalizers", Scalar.TEXT),
        17: ("managedFields", _MANAGED),
    },
    repeated={"ownerReferences", "finalizers", "managedFields"},
)
