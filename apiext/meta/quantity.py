"""Quantities: numbers with a suffix, as quotas use them (apimachinery pkg/api/resource/quantity.go)."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Final

_SHAPE: Final = re.compile(r"([+-]?[0-9.]++)([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE][-+]?[0-9]{1,9}")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}
_MAX_BINARY: Final = Decimal(2**63 - 1)
"""Greatest amount with a binary suffix."""
_EXACT: Final = decimal.Context(prec=100, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NANO: Final = Decimal("1e-9")
_INT64_DIGITS: Final = 18
"""Digits that an int64 always holds."""


class Format(Enum):
    """The family of suffixes that a quantity is written with."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount and its format."""

    amount: Decimal
    format: Format = Format.DECIMAL
    text: str = field(default="", compare=False)
    """The text that was parsed, if it is canonical enough to keep."""

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum in the format of the first quantity, or of the other one if the first is zero."""
        return Quantity(_EXACT.add(self.amount, other.amount), self.format if self.amount else other.format)

    def __str__(self) -> str:
        """Return the canonical form, or the parsed text if it may stay."""
        if self.text or not self.amount:
            return self.text or "0"
        if self.format is Format.BINARY and abs(self.amount) >= 1024 and self.amount == self.amount.to_integral_value():
            return _binary(int(self.amount))
        number, exponent = _thousands(self.amount)
        if self.format is Format.EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"


def parse(text: str) -> Quantity:
    """Parse a quantity.

    Raises:
        ValueError: the text is no quantity.
    """
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError("it is no quantity")
    number, suffix = found.groups()
    try:
        amount = _EXACT.create_decimal(number)
    except decimal.InvalidOperation as error:
        raise ValueError("the number of a quantity cannot be read") from error
    if suffix in _DECIMAL:
        return _of_decimal(text, number, amount, _DECIMAL[suffix], Format.DECIMAL)
    if suffix in _BINARY:
        return _of_binary(text, number, amount, _BINARY[suffix])
    if _EXPONENT.fullmatch(suffix):
        return _of_decimal(text, number, amount, int(suffix[1:]), Format.EXPONENT)
    raise ValueError("the suffix of a quantity is unknown")


def _of_decimal(text: str, number: str, amount: Decimal, exponent: int, written: Format) -> Quantity:
    digits, fraction = _digits(number)
    scale = exponent - len(fraction)
    stays = len(digits) <= _INT64_DIGITS and scale >= -9 and scale % 3 == 0 and not digits.startswith("0") and not digits.endswith("000")
    return Quantity(_rounded(amount.scaleb(exponent, _EXACT)), written, text if stays else "")


def _of_binary(text: str, number: str, amount: Decimal, power: int) -> Quantity:
    digits, fraction = _digits(number)
    stays = not fraction and len(digits) + 3 * power < _INT64_DIGITS - 3 and int(digits) % 8 != 0
    amount = _EXACT.multiply(amount, Decimal(1024**power))
    capped = max(min(_rounded(amount), _MAX_BINARY), -_MAX_BINARY)
    return Quantity(capped, Format.DECIMAL if 0 < abs(capped) < 1 else Format.BINARY, text if stays else "")


def _digits(number: str) -> tuple[str, str]:
    """Return all digits without leading zeros, and the digits behind the point."""
    whole, _, fraction = number.lstrip("+-").partition(".")
    return (whole.lstrip("0") or "0") + fraction, fraction


def _rounded(amount: Decimal) -> Decimal:
    """Return the amount in billionths, rounded away from zero."""
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        return amount.quantize(_NANO, decimal.ROUND_UP, _EXACT)
    return amount


def _thousands(amount: Decimal) -> tuple[int, int]:
    """Return a whole number without trailing zeros and its power of ten, a multiple of three."""
    sign, digits, exponent = amount.normalize(_EXACT).as_tuple()
    power = int(exponent)
    number = int("".join(map(str, digits))) * 10 ** (power % 3)
    return -number if sign else number, power - power % 3


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0:
        number //= 1024
        power += 1
    return f"{number}{_BINARY_SUFFIX.get(power, '')}"
