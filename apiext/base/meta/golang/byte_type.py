"""Go type []byte, which JSON holds in base64."""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

import base64
from typing import Any, Final

from apiext.base.meta.golang.type_model import DecodeError, Decoder, GoType, Int, Slice


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
