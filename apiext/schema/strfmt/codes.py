"""Formats of numbers with a check digit: ISBN and card numbers."""

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
    """Return whether a text is a card number of a large issuer with the right check digit. Ignore other characters between digits."""
    digits = _NO_DIGITS.sub("", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(each // 10 + each % 10 for each in doubled) % 10 == 0
