"""Go types with JSON forms of their own: bytes, times, quantities, and numbers or texts."""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

import base64
from typing import Any, Final

from apiext.base.meta import quantity, time
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.type_model import DecodeError, Decoder, GoType, Int, Slice


class IntOrString(GoType):
    """intstr.IntOrString: an int32 or a text."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("intstr.IntOrString")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is not None and not isinstance(value, str):
            decoder.nested(_INT32, value)

    def canonical(self, value: Any) -> Any:
        return value if isinstance(value, str) else _INT32.canonical(value)

    def empty(self, value: Any) -> bool:
        return False


class QuantityText(GoType):
    """resource.Quantity: a number with a suffix; a JSON number is the same as its text."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("resource.Quantity")

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        try:
            self._parsed(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def canonical(self, value: Any) -> Any:
        try:
            return "0" if value is None else str(self._parsed(value))
        except ValueError:
            return "0"

    def empty(self, value: Any) -> bool:
        return False

    @staticmethod
    def _parsed(value: Any) -> quantity.Quantity:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return quantity.parse(formatting.number(value))
        # the reference reads the text of any other JSON value
        return quantity.parse(value if isinstance(value, str) else str(value))


_INT32: Final = Int(32)


class Bytes(GoType):
    """Go type []byte, base64 in JSON."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("[]uint8")

    def check(self, value: Any, decoder: Decoder) -> None:
        if isinstance(value, list):
            _OCTETS.check(value, decoder)
        elif isinstance(value, str):
            if _decode_base64(value) is None:
                decoder.save(DecodeError(f"illegal base64 data at input byte {_bad_base64(value)}"))
        elif value is not None:
            decoder.mismatch(value, self.name)

    def canonical(self, value: Any) -> Any:
        octets = _OCTETS.canonical(value)
        data = bytes(octets) if octets is not None else _decode_base64(value)
        return None if data is None else base64.b64encode(data).decode()


BYTES: Final = Bytes()
_OCTETS: Final = Slice(Int(8, signed=False))


def _decode_base64(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value.replace("\n", "").replace("\r", "").encode(), validate=True)
    except ValueError:
        return None


def _bad_base64(text: str) -> int:
    """Return the position at which Go's decoder fails: the first byte outside the alphabet, or the end of truncated data."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
    data = text.encode()
    bad = next((index for index, byte in enumerate(data) if byte not in alphabet), None)
    return bad if bad is not None else len(data) - len(data) % 4


def length(text: str | None) -> int:
    """Return the number of bytes in canonical base64."""
    return len(text) // 4 * 3 - text.count("=", -2) if text else 0


class Time(GoType):
    """metav1.Time: whole seconds, in UTC."""

    __slots__ = ("omit_zero",)
    _formatted = staticmethod(time.canonical)

    def __init__(self, *, omit_zero: bool = False) -> None:
        super().__init__("v1.Time")
        self.omit_zero = omit_zero

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if not isinstance(value, str):
            decoder.fail(value, "string")
        try:
            self._formatted(value)
        except ValueError as error:
            raise DecodeError(str(error)) from None

    def canonical(self, value: Any) -> Any:
        if not isinstance(value, str):
            return None
        try:
            return self._formatted(value)
        except ValueError:
            return None

    def empty(self, value: Any) -> bool:
        return self.omit_zero and value is None


class MicroTime(Time):
    """metav1.MicroTime: microseconds, in UTC."""

    __slots__ = ()
    _formatted = staticmethod(time.canonical_micro)
