"""Protobuf's messages for durations, times, scalars and JSON, which expressions may create (cel-go common/types/pb)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apiext.meta.golang.formatting import quote
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import INT_OVERFLOW, UINT_OVERFLOW, CelError
from apiext.schema.cel.protobuf_json import mismatch, to_list, to_list_value, to_struct, to_struct_value
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    EMPTY,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    map_of,
    wrapper_of,
)
from apiext.schema.cel.values import INT_MAX, INT_MIN, NANOSECONDS, Duration, EmptyMessage, Timestamp, checked_timestamp

_PACKAGE: Final = "google.protobuf."
_INT32: Final = 1 << 31
_UINT32: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A type of fields."""

    kind: CelType
    python: type
    go: str
    default: object = None
    convert: Callable[[Any], object] | None = None
    """Makes JSON of the value of a list or map. Raises CelError."""


_INT64: Final = _Scalar(INT, int, "int64", 0)
_NANOS: Final = _Scalar(INT, int, "int32", 0)
_TEXT: Final = _Scalar(STRING, str, "string", "")
_BYTES: Final = _Scalar(BYTES, bytes, "[]uint8", b"")
_SCALARS: Final[dict[str, _Scalar]] = {
    "Int64Value": _INT64,
    "Int32Value": _NANOS,
    "UInt64Value": _Scalar(UINT, Uint, "uint64", Uint(0)),
    "UInt32Value": _Scalar(UINT, Uint, "uint32", Uint(0)),
    "DoubleValue": _Scalar(DOUBLE, float, "float64", 0.0),
    "FloatValue": _Scalar(DOUBLE, float, "float32", 0.0),
    "BoolValue": _Scalar(BOOL, bool, "bool", False),  # noqa: FBT003
    "StringValue": _TEXT,
    "BytesValue": _BYTES,
}


@dataclass(frozen=True, slots=True)
class MessageType:
    """A message."""

    name: str
    type: CelType
    """The type of expressions that create it."""
    fields: Mapping[str, _Scalar]
    value: Callable[..., object]
    """Returns the run-time value for the fields."""

    def new(self, fields: Mapping[str, object]) -> object:
        """Return the run-time value for some fields.

        Raises:
            CelError: a field cannot hold its value, or the message has none.
        """
        given = {name: self._converted(name, value) for name, value in fields.items()}
        return self.value(**{name: given.get(name, scalar.default) for name, scalar in self.fields.items()})

    def _converted(self, name: str, value: Any) -> object:
        scalar, kind = self.fields[name], type(value)
        fault = ""
        if scalar.convert is not None and isinstance(value, scalar.python):
            try:
                return scalar.convert(value)
            except CelError as error:
                fault = str(error)
        elif not scalar.go:
            raise CelError(f"unsupported field type for {self.name}.{name}: {_GENERIC.get(kind) or type_of(value)}")
        elif kind is not scalar.python:
            fault = str(mismatch(value, scalar.go))
        elif scalar.go in _NARROW and not -_INT32 <= value < _INT32:
            fault = INT_OVERFLOW
        elif scalar.go == "uint32" and value >= _UINT32:
            fault = UINT_OVERFLOW
        if fault:
            raise CelError(f"field type conversion error for {self.name}.{name} value type: {fault}")
        return _single(value) if scalar.go == "float32" else value


_GENERIC: Final[dict[type, CelType]] = {list: list_of(DYN), dict: map_of(DYN, DYN)}
_NARROW: Final = frozenset({"int32", "protoreflect.EnumNumber"})


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value * float("inf")


def _duration(seconds: int, nanos: int) -> Duration:
    return Duration(min(max(seconds * NANOSECONDS + nanos, INT_MIN), INT_MAX))


def _timestamp(seconds: int, nanos: int) -> Timestamp:
    return checked_timestamp(seconds * NANOSECONDS + nanos)


def _scalar_value(value: object) -> object:
    return value


def _chosen(null_value: object, **members: object) -> object:  # noqa: ARG001 - null is also the value without members
    """Return the value of the member that was set."""
    return next((value for value in members.values() if value is not None), None)


def _any(type_url: str, value: bytes) -> object:
    """Fail: the reference can unpack the messages that its program happens to contain, which no rule relies on."""
    fields = {"type_url": type_url, "value": value.decode(errors="surrogateescape")}
    shown = " ".join(f"{name}:{quote(text)}" for name, text in fields.items() if text)
    raise CelError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){shown}")


_STRUCT: Final = map_of(STRING, DYN)
_LIST: Final = list_of(DYN)
_VALUES: Final = {
    "null_value": _Scalar(INT, int, "protoreflect.EnumNumber"),
    "number_value": _Scalar(DOUBLE, float, "float64"),
    "string_value": _Scalar(STRING, str, "string"),
    "bool_value": _Scalar(BOOL, bool, "bool"),
    "struct_value": _Scalar(_STRUCT, object, "*structpb.Struct", convert=to_struct_value),
    "list_value": _Scalar(_LIST, object, "*structpb.ListValue", convert=to_list_value),
}
_TIME_FIELDS: Final = {"seconds": _INT64, "nanos": _NANOS}
MESSAGES: Final[Mapping[str, MessageType]] = {
    message.name: message
    for message in (
        MessageType(DURATION.name, DURATION, _TIME_FIELDS, _duration),
        MessageType(TIMESTAMP.name, TIMESTAMP, _TIME_FIELDS, _timestamp),
        MessageType(f"{_PACKAGE}Struct", _STRUCT, {"fields": _Scalar(_STRUCT, dict, "", {}, to_struct)}, lambda fields: fields),
        MessageType(f"{_PACKAGE}ListValue", _LIST, {"values": _Scalar(_LIST, list, "", [], to_list)}, lambda values: values),
        MessageType(f"{_PACKAGE}Any", ANY, {"type_url": _TEXT, "value": _BYTES}, _any),
        MessageType(EMPTY.name, EMPTY, {}, EmptyMessage),
        MessageType(f"{_PACKAGE}Value", DYN, _VALUES, _chosen),
        *(MessageType(_PACKAGE + name, wrapper_of(scalar.kind), {"value": scalar}, _scalar_value) for name, scalar in _SCALARS.items()),
    )
}
"""The messages by name."""
CONSTANTS: Final = {f"{_PACKAGE}NullValue.NULL_VALUE": 0}
"""The values of enumerations by name."""
