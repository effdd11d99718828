"""Protobuf, as kube-apiserver stores and writes it and client-go sends it: built-in types only, custom resources are JSON.

Mirrors apimachinery pkg/runtime/serializer/protobuf: the prefix "k8s" with a zero byte, a runtime.Unknown, and the object in it.
"""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import json_codec, time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.meta.json_codec import Object

PREFIX: Final = b"k8s\x00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_UINT64: Final = 2**64 - 1
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
    """A message type: field number -> name in JSON and content.

    Fields that are `optional` are left out where there is nothing in them; the others are written even so.
    """

    __slots__ = ("_ordered", "fields", "optional", "repeated")

    def __init__(
        self,
        fields: Mapping[int, tuple[str, Scalar | Message]],
        repeated: frozenset[str] | set[str] = frozenset(),
        optional: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        self.define(fields, repeated, optional)

    def define(
        self,
        fields: Mapping[int, tuple[str, Scalar | Message]],
        repeated: frozenset[str] | set[str] = frozenset(),
        optional: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        """Set the fields; a type that contains itself is made without them first."""
        self.fields = fields
        self.repeated = frozenset(repeated)
        self.optional = frozenset(optional)
        self._ordered = sorted(fields.items())

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

    def write(self, obj: Object) -> bytes:
        """The bytes of a message given as JSON, its fields in the order of their numbers."""
        parts: list[bytes] = []
        for number, (name, content) in self._ordered:
            value = obj.get(name)
            if content is Scalar.MAP or isinstance(content, MapOf):
                entry = content.message if isinstance(content, MapOf) else _ENTRY
                members = value or {}
                parts += [field(number, entry.write({"key": key, "value": members[key]})) for key in sorted(members)]
            elif name in self.repeated:
                parts += [_written(number, content, member) for member in value or ()]
            elif value is not None or name not in self.optional:
                parts.append(_written(number, content, value))
        return b"".join(parts)


class MapOf(Message):
    """A map from texts to messages."""

    __slots__ = ("message",)

    def __init__(self, value: Message) -> None:
        super().__init__({})
        self.message = Message({1: ("key", Scalar.TEXT), 2: ("value", value)})

    def entry(self, data: bytes) -> tuple[str, Any]:
        """One member of the map. Raises ValueError."""
        entry = self.message.read(data)
        return entry.get("key", ""), entry.get("value", {})


def read(data: bytes, message: Message) -> Object:
    """A stored object, with its kind and apiVersion. Raises ValueError."""
    envelope = _ENVELOPE.read(data.removeprefix(PREFIX))
    obj = envelope.get("typeMeta", {})
    raw: bytes = envelope.get("raw", b"")
    return {**obj, **message.read(raw)}


def dumps(api_version: str, kind: str, raw: bytes) -> bytes:
    """A message of that kind in its envelope."""
    return PREFIX + _ENVELOPE.write({"typeMeta": {"apiVersion": api_version, "kind": kind}, "raw": raw})


def field(number: int, data: bytes) -> bytes:
    """A field that holds bytes, a text or a message."""
    return b"".join((_encoded(number << 3 | _BYTES), _encoded(len(data)), data))


def _written(number: int, content: Scalar | Message, value: Any) -> bytes:
    if isinstance(content, Message):
        return field(number, content.write({} if value is None else value))
    if content is Scalar.INT or content is Scalar.BOOL:
        return _encoded(number << 3 | _VARINT) + _encoded(int(value or 0) & _UINT64)
    if content is Scalar.FLOAT:
        return _encoded(number << 3 | _FIXED64) + struct.pack("<d", value or 0)
    return field(number, _scalar_bytes(content, value))


def _scalar_bytes(content: Scalar, value: Any) -> bytes:
    if content is Scalar.TEXT:
        return str(value or "").encode(errors="replace")
    if content is Scalar.BASE64:
        return base64.b64decode(value or "")
    if content is Scalar.JSON:
        return b"" if value is None else field(1, json_codec.dumps(value, sort_keys=False))
    return _time_bytes(value)


def _time_bytes(value: str | None) -> bytes:
    """A Timestamp; the zero time is an empty one."""
    if not value:
        return b""
    moment = datetime.fromisoformat(value) - _EPOCH
    seconds = moment // _SECOND
    return _TIMESTAMP.write({"seconds": seconds, "nanos": (moment - seconds * _SECOND) // _MICROSECOND * 1000})


def _encoded(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


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
        return json_codec.loads(wrapped) if wrapped else None
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

    def write(self, obj: Any) -> bytes:
        """The bytes."""
        return obj or b""


BYTES_OF: Final = _Raw({})
"""Bytes as they are."""
_ENTRY: Final = Message({1: ("key", Scalar.TEXT), 2: ("value", Scalar.TEXT)})
_JSON: Final = Message({1: ("raw", BYTES_OF)})
_TIMESTAMP: Final = Message({1: ("seconds", Scalar.INT), 2: ("nanos", Scalar.INT)})
_TYPE_META: Final = Message({1: ("apiVersion", Scalar.TEXT), 2: ("kind", Scalar.TEXT)})
_ENVELOPE: Final = Message(
    {1: ("typeMeta", _TYPE_META), 2: ("raw", BYTES_OF), 3: ("contentEncoding", Scalar.TEXT), 4: ("contentType", Scalar.TEXT)}
)
