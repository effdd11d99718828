"""Values as Go prints them, for messages that must equal the reference's."""

from __future__ import annotations

import math

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
"""Decimal exponent from which on encoding/json uses the exponent form."""
_MAX_PLAIN_EXPONENT = 6
"""Decimal exponent from which on %v uses the exponent form."""
_LAST_BMP = 0xFFFF
"""Last code point that \\u can escape."""
_FIRST_BYTE = 0xDC80
_LAST_BYTE = 0xDCFF
"""Last surrogate that stands for a byte (surrogateescape); _FIRST_BYTE is the first."""


def quote(text: str) -> str:
    """Return a string as Go's %q and strconv.Quote print it; surrogate escapes stand for bytes that are not UTF-8."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if char in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[char]
    if char == " " or char.isprintable():
        return char
    code = ord(char)
    if code < ord(" ") or code == 0x7F:
        return f"\\x{code:02x}"
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code <= _LAST_BMP else f"\\U{code:08x}"


def number(value: float, *, min_exponent: int = -4, max_exponent: int = _MAX_FIXED_EXPONENT) -> str:
    """Return a number in Go's shortest form; exponents outside the limits use the exponent form.

    %v uses the exponent form from 1e+06 (see value), encoding/json below 1e-6 and from 1e+21.
    """
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    mantissa, _, exponent_text = f"{value!r}".lower().partition("e")
    sign, digits, exponent = _decimal(mantissa, int(exponent_text or 0))
    if exponent < min_exponent or exponent >= max_exponent:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _fixed(digits, exponent)


def _decimal(mantissa: str, exponent: int) -> tuple[str, str, int]:
    """Split a float into sign, significant digits and the exponent of the first digit."""
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    stripped = digits.lstrip("0")
    exponent += len(whole) - 1 - (len(digits) - len(stripped))
    return sign, stripped.rstrip("0") or "0", exponent


def _fixed(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    if len(digits) <= exponent + 1:
        return digits + "0" * (exponent + 1 - len(digits))
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def value(item: object) -> str:
    """Return a scalar as Go's %v prints it."""
    if item is None:
        return "<nil>"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return number(item, max_exponent=_MAX_PLAIN_EXPONENT)
    return str(item)
