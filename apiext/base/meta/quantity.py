"""Quantities: numbers with a suffix, as quotas use them (apimachinery pkg/api/resource/quantity.go)."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Final, NamedTuple

_SHAPE: Final = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_BAD_SHAPE: Final = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_NUMBER: Final = "unable to parse numeric part of quantity"
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"
_EXPONENT: Final = re.compile(r"[eE][-+]?[0-9]{1,9}", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}
_MAX_BINARY: Final = Decimal(2**63 - 1)
"""Greatest amount with a binary suffix."""
_EXACT: Final = decimal.Context(prec=100, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NANO: Final = Decimal("1e-9")
_NANO_EXPONENT: Final = -9
_INT64_DIGITS: Final = 18
"""Number of digits that always fit into an int64."""


class Format(Enum):
    """The suffix family of a quantity."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount and its format."""

    amount: Decimal
    format: Format = Format.DECIMAL
    compact: bool = field(default=False, compare=False)
    """Whether the reference would hold the parsed `amount` as a 64-bit integer and a power of ten."""

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum in the format of the first quantity, or of the other one if the first is zero."""
        return Quantity(_EXACT.add(self.amount, other.amount), self.format if self.amount else other.format)

    def __str__(self) -> str:
        """Return the canonical form."""
        if not self.amount:
            return "0"
        if self.format is Format.BINARY and abs(self.amount) >= 1024 and self.amount == self.amount.to_integral_value():
            return _binary(int(self.amount))
        number, exponent = _thousands(self.amount)
        if self.format is Format.EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"


def parse(text: str) -> Quantity:
    """Parse a quantity.

    Raises:
        ValueError: the text is no quantity; the message is the reference's.
    """
    found = _SHAPE.fullmatch(text)
    if found is None or not text:
        raise ValueError(_BAD_SHAPE)
    sign, whole, fraction, suffix = found.groups()
    if not (whole or fraction):
        raise ValueError(_BAD_NUMBER)
    number = _Number(sign, whole.lstrip("0") or "0", fraction or "")
    if suffix in _DECIMAL:
        return _of_decimal(number, _DECIMAL[suffix], Format.DECIMAL)
    if suffix in _BINARY:
        return _of_binary(number, _BINARY[suffix])
    if _EXPONENT.fullmatch(suffix):
        return _of_decimal(number, int(suffix[1:]), Format.EXPONENT)
    raise ValueError(_BAD_SUFFIX)


class _Number(NamedTuple):
    """The number of a quantity; `whole` has no leading zeros."""

    sign: str
    whole: str
    fraction: str

    @property
    def digits(self) -> str:
        return self.whole + self.fraction

    def amount(self, exponent: int) -> Decimal:
        return _EXACT.create_decimal(f"{self.sign}{self.digits}e{exponent - len(self.fraction)}")


def _of_decimal(number: _Number, exponent: int, written: Format) -> Quantity:
    digits, scale = number.digits, exponent - len(number.fraction)
    compact = len(digits) <= _INT64_DIGITS and scale >= _NANO_EXPONENT
    return Quantity(_rounded(number.amount(exponent)), written, compact=compact)


def _of_binary(number: _Number, power: int) -> Quantity:
    digits = number.digits
    amount = _EXACT.multiply(number.amount(0), Decimal(1024**power))
    compact = not number.fraction and len(digits) + 3 * power < _INT64_DIGITS - 3 and abs(amount) <= _MAX_BINARY
    capped = max(min(_rounded(amount), _MAX_BINARY), -_MAX_BINARY)
    written = Format.DECIMAL if 0 < abs(capped) < 1 else Format.BINARY
    return Quantity(capped, written, compact=compact)


def _rounded(amount: Decimal) -> Decimal:
    """Return the amount in billionths, rounded away from zero."""
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < _NANO_EXPONENT:
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
