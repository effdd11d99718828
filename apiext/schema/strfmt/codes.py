"""Formats of codes: ISBN, card and insurance numbers, colours, base64."""

from __future__ import annotations

import re

_ISBN10 = re.compile("[0-9]{9}[0-9X]")
_ISBN13 = re.compile("[0-9]{13}")
_SEPARATORS = re.compile(r"[\t\n\f\r -]+")
_NO_DIGITS = re.compile("[^0-9]+")
_CARD = re.compile(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_SSN = re.compile("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")
_SSN_LENGTH = 11
"""Characters, with both separators."""
_HEX_COLOR = re.compile("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_CHANNEL = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_GAP = r"[\t\n\f\r ]*"
_RGB_COLOR = re.compile(rf"rgb\({_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP}\)")
_BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")


def is_isbn(text: str) -> bool:
    """Return whether a text is an ISBN of ten or thirteen digits."""
    return is_isbn10(text) or is_isbn13(text)


def is_isbn10(text: str) -> bool:
    """Return whether a text is an ISBN of ten digits with the right check digit."""
    digits = _SEPARATORS.sub("", text)
    if not _ISBN10.fullmatch(digits):
        return False
    weighted = sum(weight * (10 if digit == "X" else int(digit)) for weight, digit in enumerate(digits, start=1))
    return weighted % 11 == 0


def is_isbn13(text: str) -> bool:
    """Return whether a text is an ISBN of thirteen digits with the right check digit."""
    digits = _SEPARATORS.sub("", text)
    if not _ISBN13.fullmatch(digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    """Return whether a text is a card number of a large issuer with the right check digit; other characters between digits are ignored."""
    digits = _NO_DIGITS.sub("", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(each // 10 + each % 10 for each in doubled) % 10 == 0


def is_ssn(text: str) -> bool:
    """Return whether a text is a U.S. social security number with both separators."""
    return len(text) == _SSN_LENGTH and _SSN.fullmatch(text) is not None


def is_hex_color(text: str) -> bool:
    """Return whether a text is a colour in three or six hex digits."""
    return _HEX_COLOR.fullmatch(text) is not None


def is_rgb_color(text: str) -> bool:
    """Return whether a text is a colour such as rgb(0, 127, 255)."""
    return _RGB_COLOR.fullmatch(text) is not None


def is_base64(text: str) -> bool:
    """Return whether a text is non-empty, padded base64 of the standard alphabet."""
    return _BASE64.fullmatch(text) is not None


def is_password(_: str) -> bool:
    """Accept any text: the format only asks clients to hide the value."""
    return True
