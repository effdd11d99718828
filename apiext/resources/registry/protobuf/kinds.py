"""Protobuf of built-in types, as kube-apiserver stores it and client-go sends it; custom resources are always JSON.

Mirrors apimachinery pkg/runtime/serializer/protobuf: the prefix "k8s" with a zero byte, then a runtime.Unknown that contains the
object.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import time
from apiext.base.meta.encoding import json_codec, protobuf_wire
from apiext.base.meta.encoding.protobuf_wire import field, read_fields
from apiext.base.meta.golang.struct_type import CompositeStruct, Struct
from apiext.base.meta.golang.type_model import Bool, Float, GoType, Int, Map, Pointer, Raw, Slice, String
from apiext.base.meta.golang.value_types import Bytes, IntOrString, MicroTime, QuantityText, Time

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from apiext.base.meta.encoding.json_codec import Object

PREFIX: Final = b"k8s\x00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_ZERO_SECONDS: Final = -62135596800
"""The zero time of Go, in seconds since the epoch."""
_EXACT: Final = 2**53
"""Integers below are exact in a float."""


class Scalar(Enum):
    """Types of scalar fields."""

    TEXT = auto()
    INT = auto()
    BOOL = auto()
    TIME = auto()
    MICRO_TIME = auto()
    FLOAT = auto()
    BASE64 = auto()
    """Bytes; base64 in JSON."""
    JSON = auto()
    """A message that contains JSON text."""
    QUANTITY = auto()
    INT_OR_STRING = auto()


class Message:
    """A message type: field numbers with JSON names and types.

    An `optional` field is omitted if it is empty; the others are always written.
    """

    __slots__ = ("_ordered", "fields", "optional", "repeated")

    def __init__(
        self,
        fields: Mapping[int, tuple[str, Scalar | Message | MapOf | Embedded]],
        repeated: AbstractSet[str] = frozenset(),
        optional: AbstractSet[str] = frozenset(),
    ) -> None:
        self.fields = fields
        self.repeated = frozenset(repeated)
        self.optional = frozenset(optional)
        self._ordered = sorted(fields.items())

    def define_as(self, other: Message) -> None:
        """Take the fields of another message; a recursive type is created before its fields."""
        self.fields, self.repeated, self.optional, self._ordered = other.fields, other.repeated, other.optional, other._ordered

    def read(self, data: bytes) -> Object:
        """Return a message as JSON.

        Raises:
            ValueError: the data is malformed.
        """
        out: Object = {}
        for number, raw in read_fields(data):
            if number not in self.fields:
                continue
            name, content = self.fields[number]
            if isinstance(content, MapOf):
                entry = content.entry.read(_expect(raw))
                out.setdefault(name, {})[entry.get("key", "")] = entry.get("value", content.default())
                continue
            if isinstance(content, Embedded):
                out.update(content.message.read(_expect(raw)))
                continue
            value = content.read(_expect(raw)) if isinstance(content, Message) else _scalar(content, raw)
            if name in self.repeated:
                out.setdefault(name, []).append(value)
            else:
                out[name] = value
        return out

    def write(self, obj: Object) -> bytes:
        """Return the bytes of a message given as JSON, in the order of field numbers."""
        parts: list[bytes] = []
        for number, (name, content) in self._ordered:
            value = obj.get(name)
            if isinstance(content, MapOf):
                members = value or {}
                # a loop: a comprehension adds a frame for each level of a schema
                for key in sorted(members):
                    parts.append(field(number, content.entry.write({"key": key, "value": members[key]})))  # noqa: PERF401
            elif isinstance(content, Embedded):
                parts.append(field(number, content.message.write(obj)))
            elif name in self.repeated or value is not None or name not in self.optional:
                for member in (value or ()) if name in self.repeated else (value,):
                    if isinstance(content, Message):
                        parts.append(field(number, content.write({} if member is None else member)))
                    else:
                        parts.append(_scalar_field(number, content, member))
        return b"".join(parts)


class Items(Message):
    """A list that is a message of its own: a map's value is one, since maps have no repeated values."""

    __slots__ = ()

    def __init__(self, item: Scalar | Message | MapOf) -> None:
        super().__init__({1: ("items", item)}, repeated={"items"})

    def read(self, data: bytes) -> Any:
        """Return the list."""
        return super().read(data).get("items", [])

    def write(self, obj: Any) -> bytes:
        """Return the bytes of a list."""
        return super().write({"items": obj or []})


class MapOf:
    """A map from strings to strings, messages or lists."""

    __slots__ = ("default", "entry")

    def __init__(self, value: Scalar | Message | MapOf) -> None:
        self.entry = Message({1: ("key", Scalar.TEXT), 2: ("value", value)})
        self.default: type = list if isinstance(value, Items) else dict if isinstance(value, Message) else str


class Embedded:
    """A message whose fields are those of the message that contains it."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message


_SCALARS: Final[tuple[tuple[type[GoType], Scalar], ...]] = (
    *((String, Scalar.TEXT), (Int, Scalar.INT), (Bool, Scalar.BOOL), (Float, Scalar.FLOAT)),
    (Bytes, Scalar.BASE64),
    *((MicroTime, Scalar.MICRO_TIME), (Time, Scalar.TIME), (Raw, Scalar.JSON)),
    *((QuantityText, Scalar.QUANTITY), (IntOrString, Scalar.INT_OR_STRING)),
)
_NO_CONTENTS: Final[Mapping[GoType, Scalar | Message]] = MappingProxyType({})


def message_of(struct: Struct, contents: Mapping[GoType, Scalar | Message] = _NO_CONTENTS) -> Message:
    """Return the message of a Go struct, from the numbers of its fields; `contents` has the types whose form is another than the usual."""
    fields = [field for field in struct.by_name.values() if field.number]
    plain = {field.number: (field.name, _content(field.type, contents)) for field in fields}
    return Message(
        {**plain, **_embedded(struct, contents)},
        repeated={field.name for field in fields if isinstance(field.type, Slice) and field.type not in contents},
        optional={field.name for field in fields if isinstance(field.type, Pointer | Bytes)},
    )


def _embedded(struct: Struct, contents: Mapping[GoType, Scalar | Message]) -> dict[int, tuple[str, Embedded]]:
    embedded = struct.embedded if isinstance(struct, CompositeStruct) else ()
    return {number: (each.struct, Embedded(message_of(each, contents))) for number, each in embedded}


def _content(go_type: GoType, contents: Mapping[GoType, Scalar | Message]) -> Scalar | Message | MapOf:
    if go_type in contents:
        return contents[go_type]
    if isinstance(go_type, Pointer):
        return _content(go_type.to, contents)
    if isinstance(go_type, Slice):
        return _content(go_type.of, contents)
    if isinstance(go_type, Map):
        content = _content(go_type.of, contents)
        is_list = isinstance(go_type.of, Slice) and not isinstance(content, Items)
        return MapOf(Items(content) if is_list else content)
    if isinstance(go_type, Struct):
        return message_of(go_type, contents)
    return next(scalar for kind, scalar in _SCALARS if isinstance(go_type, kind))


def read(data: bytes, message: Message) -> Object:
    """Return a stored object with its kind and apiVersion.

    Raises:
        ValueError: the data is malformed.
    """
    envelope = _ENVELOPE.read(data.removeprefix(PREFIX))
    obj = envelope.get("typeMeta", {})
    raw: bytes = envelope.get("raw", b"")
    return {**obj, **message.read(raw)}


def dumps(api_version: str, kind: str, raw: bytes) -> bytes:
    """Encode a message and its envelope."""
    return PREFIX + _ENVELOPE.write({"typeMeta": {"apiVersion": api_version, "kind": kind}, "raw": raw})


def _scalar_field(number: int, content: Scalar, value: Any) -> bytes:
    if content is Scalar.INT or content is Scalar.BOOL:
        return protobuf_wire.tag(number, protobuf_wire.VARINT) + protobuf_wire.varint(int(value or 0))
    if content is Scalar.FLOAT:
        return protobuf_wire.tag(number, protobuf_wire.FIXED64) + protobuf_wire.double(value or 0)
    return field(number, _scalar_bytes(content, value))


def _scalar_bytes(content: Scalar, value: Any) -> bytes:
    if content is Scalar.TEXT:
        return str(value or "").encode(errors="replace")
    if content is Scalar.BASE64:
        return base64.b64decode(value or "")
    if content is Scalar.JSON:
        return b"" if value is None else field(1, json_codec.dumps(value, sort_keys=False))
    if content is Scalar.QUANTITY:
        return field(1, str(value or "0").encode())
    if content is Scalar.INT_OR_STRING:
        is_text = isinstance(value, str)
        return _INT_OR_STRING.write({"type": int(is_text), "intVal": 0 if is_text else value, "strVal": value if is_text else ""})
    return _time_bytes(value)


def _time_bytes(value: str | None) -> bytes:
    """Return a Timestamp; empty for the zero time."""
    if not value:
        return b""
    moment = datetime.fromisoformat(value) - _EPOCH
    seconds = moment // _SECOND
    return _TIMESTAMP.write({"seconds": seconds, "nanos": (moment - seconds * _SECOND) // _MICROSECOND * 1000})


def _expect(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("protobuf: got a number, expected a message")  # noqa: TRY004
    return raw


def _scalar(kind: Scalar, raw: int | bytes) -> Any:
    if kind is Scalar.INT or kind is Scalar.BOOL:
        if not isinstance(raw, int):
            raise ValueError("protobuf: got a message, expected a number")
        return bool(raw) if kind is Scalar.BOOL else protobuf_wire.signed(raw)
    data = _expect(raw)
    if kind is Scalar.TEXT:
        return data.decode()
    if kind is Scalar.FLOAT:
        number = protobuf_wire.read_double(data)
        # As in JSON: without a fraction if there is none.
        return int(number) if number.is_integer() and abs(number) < _EXACT else number
    if kind is Scalar.BASE64:
        return base64.b64encode(data).decode()
    if kind is Scalar.JSON:
        wrapped = _JSON.read(data).get("raw", b"")
        return json_codec.loads(wrapped) if wrapped else None
    if kind is Scalar.QUANTITY:
        return _QUANTITY.read(data).get("string", "0")
    if kind is Scalar.INT_OR_STRING:
        either = _INT_OR_STRING.read(data)
        return either.get("strVal", "") if either.get("type") else either.get("intVal", 0)
    return _time(data, micro=kind is Scalar.MICRO_TIME)


def _time(data: bytes, *, micro: bool) -> str | None:
    moment = _TIMESTAMP.read(data)
    seconds, nanos = moment.get("seconds", 0), moment.get("nanos", 0)
    if not data or seconds == _ZERO_SECONDS:
        return None
    try:
        text = time.rfc3339(_EPOCH + timedelta(seconds=seconds))
    except OverflowError as error:
        raise ValueError("protobuf: time out of range") from error
    return f"{text[:-1]}.{nanos // 1000:06}Z" if micro else text


class _Raw(Message):
    """A message that stays bytes."""

    __slots__ = ()

    def read(self, data: bytes) -> Any:
        """Return the bytes."""
        return data

    def write(self, obj: Any) -> bytes:
        """Return the bytes."""
        return obj or b""


BYTES_OF: Final = _Raw({})
"""A message that stays bytes."""
_JSON: Final = Message({1: ("raw", BYTES_OF)})
_QUANTITY: Final = Message({1: ("string", Scalar.TEXT)})
_INT_OR_STRING: Final = Message({1: ("type", Scalar.INT), 2: ("intVal", Scalar.INT), 3: ("strVal", Scalar.TEXT)})
_TIMESTAMP: Final = Message({1: ("seconds", Scalar.INT), 2: ("nanos", Scalar.INT)})
_TYPE_META: Final = Message({1: ("apiVersion", Scalar.TEXT), 2: ("kind", Scalar.TEXT)})
_ENVELOPE: Final = Message(
    {1: ("typeMeta", _TYPE_META), 2: ("raw", BYTES_OF), 3: ("contentEncoding", Scalar.TEXT), 4: ("contentType", Scalar.TEXT)}
)
