"""Quantities: amounts with a suffix, as quotas have them (apimachinery pkg/api/resource/quantity.go)."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Final

_SHAPE: Final = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE][-+]?[0-9]{1,9}")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}
_MOST: Final = Decimal(2**63 - 1)
"""Of what has a binary suffix."""
_EXACT: Final = decimal.Context(prec=100, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NANO: Final = Decimal("1e-9")
_FAST: Final = 18
"""Digits that an int64 always has room for."""


class Format(Enum):
    """Which suffixes a quantity is written with."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, and the way in which it is written."""

    amount: Decimal
    format: Format = Format.DECIMAL
    text: str = field(default="", compare=False)
    """As it was read, where that is written well enough to stay."""

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, written as the first one is, or as the other where that is nothing."""
        return Quantity(_EXACT.add(self.amount, other.amount), self.format if self.amount else other.format)

    def __str__(self) -> str:
        """The canonical form, unless it was read in another one that may stay."""
        if self.text or not self.amount:
            return self.text or "0"
        if self.format is Format.BINARY and abs(self.amount) >= 1024 and self.amount == self.amount.to_integral_value():
            return _binary(int(self.amount))
        number, exponent = _thousands(self.amount)
        if self.format is Format.EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"


def parse(text: str) -> Quantity:
    """Read a quantity. Raises ValueError where it is none."""
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
    stays = len(digits) <= _FAST and scale >= -9 and scale % 3 == 0 and not digits.startswith("0") and not digits.endswith("000")
    return Quantity(_rounded(amount.scaleb(exponent, _EXACT)), written, text if stays else "")


def _of_binary(text: str, number: str, amount: Decimal, power: int) -> Quantity:
    digits, fraction = _digits(number)
    stays = not fraction and len(digits) + 3 * power < _FAST - 3 and int(digits) % 8 != 0
    amount = _EXACT.multiply(amount, Decimal(1024**power))
    capped = max(min(_rounded(amount), _MOST), -_MOST)
    return Quantity(capped, Format.DECIMAL if 0 < abs(capped) < 1 else Format.BINARY, text if stays else "")


def _digits(number: str) -> tuple[str, str]:
    """All digits but leading zeros, and those behind the point."""
    whole, _, fraction = number.lstrip("+-").partition(".")
    return (whole.lstrip("0") or "0") + fraction, fraction


def _rounded(amount: Decimal) -> Decimal:
    """The amount in billionths, away from nothing."""
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        return amount.quantize(_NANO, decimal.ROUND_UP, _EXACT)
    return amount


def _thousands(amount: Decimal) -> tuple[int, int]:
    """A whole number without trailing zeros, and the power of ten to multiply it with: a multiple of three."""
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
