"""Values as Go prints them, for messages that must equal the reference's."""

from __future__ import annotations

import math
from decimal import Decimal

_SIMPLE_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_MAX_FIXED_EXPONENT = 21
"""Decimal exponent from which encoding/json uses the exponent form."""
_MAX_PLAIN_EXPONENT = 6
"""Decimal exponent from which %v uses the exponent form."""
_BYTES = range(0xDC80, 0xDD00)
"""Code points that stand for bytes that are not UTF-8 (surrogateescape)."""
_LAST_BMP = 0xFFFF
"""Last code point that \\u can escape."""

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Characters that Go trims as spaces; Python's `str.strip` also trims four others."""


def trim_space(text: str) -> str:
    """Return a string without the spaces at its ends (strings.TrimSpace)."""
    return text.strip(_SPACES)


def quote(text: str) -> str:
    """Return a string as Go's %q and strconv.Quote print it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_ESCAPES)}"'


def _escape(char: str) -> str:
    if char in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[char]
    if char == " " or char.isprintable():
        return char
    code = ord(char)
    if code < ord(" ") or code == 0x7F or code in _BYTES:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code <= _LAST_BMP else f"\\U{code:08x}"


class _Escapes(dict[int, str]):
    """The escapes of all characters by code point; those of Latin 1 are made once."""

    def __missing__(self, code: int) -> str:
        return _escape(chr(code))


_ESCAPES = _Escapes({code: _escape(chr(code)) for code in range(0x100)})


def number(value: float, *, min_exponent: int = -4, max_exponent: int = _MAX_FIXED_EXPONENT) -> str:
    """Return a number in Go's shortest form. Exponents outside the limits take the exponent form.

    %v uses the exponent form from 1e+06 (see value), encoding/json below 1e-6 and from 1e+21.
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    shortest = Decimal(repr(value)).normalize()
    exponent = shortest.adjusted()
    if min_exponent <= exponent < max_exponent:
        return f"{shortest:f}"
    return f"{shortest.scaleb(-exponent):f}e{exponent:+03d}"


def value(item: object) -> str:
    """Return a scalar as Go's %v prints it."""
    if item is None:
        return "<nil>"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return number(item, max_exponent=_MAX_PLAIN_EXPONENT)
    return str(item)


def syntax(item: object) -> str:
    """Return a JSON value as Go's %#v prints it."""
    if isinstance(item, dict):
        members = ", ".join(f"{quote(name)}:{syntax(item[name])}" for name in sorted(item))
        return f"map[string]interface {{}}{{{members}}}"
    if isinstance(item, list):
        return f"[]interface {{}}{{{', '.join(map(syntax, item))}}}"
    if isinstance(item, str):
        return quote(item)
    return "interface {}(nil)" if item is None else value(item)
