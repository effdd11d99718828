"""Quantities (apiserver pkg/cel/library/quantity.go)."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final

from apiext.base.meta import quantity
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import read_once
from apiext.schema.cel.libraries.library import Implementation, Library, Overload
from apiext.schema.cel.types import BOOL, DOUBLE, INT, STRING, CelType
from apiext.schema.cel.values.run_time_values import INT_MAX, INT_MIN, OpaqueValue

_QUANTITY: Final = CelType("kubernetes.Quantity")
_EXACT: Final = decimal.Context(prec=1000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NANO: Final = -9
_MAX_POWER: Final = 308
_MIN_POWER: Final = -323
_POWER_STEP: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class QuantityValue(OpaqueValue):
    """An amount.

    `compact`: the reference keeps `amount` as a 64-bit integer and a power of ten. Only such an amount can become an integer.
    """

    cel_type: ClassVar[CelType] = _QUANTITY
    amount: Decimal
    compact: bool

    def __eq__(self, other: object) -> bool:
        """Return whether the amounts are equal."""
        return isinstance(other, QuantityValue) and self.amount == other.amount

    def __hash__(self) -> int:
        """Return the hash of the amount."""
        return hash(self.amount)

    def plus(self, other: QuantityValue) -> QuantityValue:
        """Return the sum."""
        compact = self.compact and other.compact
        if compact and not (self.amount and other.amount):
            return self if self.amount else other
        total = _EXACT.add(self.amount, other.amount)
        return QuantityValue(total, compact and _fits(total) and all(_fits(_aligned(part, total)) for part in (self.amount, other.amount)))

    def integer(self) -> int | None:
        """Return the amount as an int, None if the reference cannot."""
        exponent = _exponent(self.amount)
        whole = self.compact and (exponent == 0 or (exponent > 0 and self.amount <= INT_MAX and self.amount >= INT_MIN))
        return int(self.amount) if whole else None

    def approximate(self) -> float:
        """Return the amount as a double, rounded as the reference rounds it."""
        try:
            base = float(_unscaled(self.amount))
        except OverflowError:
            base = float("inf") if self.amount > 0 else float("-inf")
        exponent = _exponent(self.amount)
        return base * _power_of_ten(exponent) if exponent else base


def _exponent(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _unscaled(amount: Decimal) -> int:
    return int(amount.scaleb(-_exponent(amount), _EXACT))


def _fits(amount: Decimal) -> bool:
    return INT_MIN <= _unscaled(amount) <= INT_MAX


def _aligned(amount: Decimal, total: Decimal) -> Decimal:
    """Return an amount with the exponent of another one, which must not be greater."""
    return amount.quantize(total, context=_EXACT)


def _power_of_ten(exponent: int) -> float:
    """Return a power of ten with the rounding of Go's math.Pow10."""
    if exponent > _MAX_POWER:
        return float("inf")
    if exponent < _MIN_POWER:
        return 0.0
    high, low = divmod(abs(exponent), _POWER_STEP)
    small = float(f"1e{low}")
    return float(f"1e{high * _POWER_STEP}") * small if exponent >= 0 else float(f"1e-{high * _POWER_STEP}") / small


def _parse(text: str) -> QuantityValue:
    try:
        parsed = quantity.parse(text)
    except ValueError as error:
        raise CelError(str(error)) from None
    amount = parsed.amount
    if not parsed.compact and amount and _exponent(amount) > _NANO and amount.adjusted() < _MAX_POWER:
        amount = amount.quantize(Decimal((0, (1,), _NANO)), context=_EXACT)
    return QuantityValue(amount, parsed.compact)


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _as_integer(value: QuantityValue) -> int:
    integer = value.integer()
    if integer is None:
        raise CelError("cannot convert value to integer")
    return integer


def _of_int(number: int) -> QuantityValue:
    return QuantityValue(Decimal(number), compact=True)


def _negative(value: QuantityValue) -> QuantityValue:
    return QuantityValue(value.amount.copy_negate(), value.compact)


def _compare(left: QuantityValue, right: QuantityValue) -> int:
    return (left.amount > right.amount) - (left.amount < right.amount)


def _member(overload: str, parameters: tuple[CelType, ...], result: CelType, implementation: Implementation) -> Overload:
    return Overload(id=overload, parameters=(_QUANTITY, *parameters), result=result, implementation=implementation, member=True)


QUANTITY: Final = Library(
    name="kubernetes.quantity",
    functions={
        "quantity": (Overload(id="string_to_quantity", parameters=(STRING,), result=_QUANTITY, implementation=_parse, cost=read_once),),
        "isQuantity": (Overload(id="is_quantity_string", parameters=(STRING,), result=BOOL, implementation=_is_quantity, cost=read_once),),
        "sign": (
            Overload(
                id="quantity_sign",
                parameters=(_QUANTITY,),
                result=INT,
                implementation=lambda value: (value.amount > 0) - (value.amount < 0),
            ),
        ),
        "isGreaterThan": (_member("quantity_is_greater_than", (_QUANTITY,), BOOL, lambda left, right: left.amount > right.amount),),
        "isLessThan": (_member("quantity_is_less_than", (_QUANTITY,), BOOL, lambda left, right: left.amount < right.amount),),
        "compareTo": (_member("quantity_compare_to", (_QUANTITY,), INT, _compare),),
        "asApproximateFloat": (_member("quantity_get_float", (), DOUBLE, QuantityValue.approximate),),
        "asInteger": (_member("quantity_get_int", (), INT, _as_integer),),
        "isInteger": (_member("quantity_is_integer", (), BOOL, lambda value: value.integer() is not None),),
        "add": (
            _member("quantity_add", (_QUANTITY,), _QUANTITY, QuantityValue.plus),
            _member("quantity_add_int", (INT,), _QUANTITY, lambda value, number: value.plus(_of_int(number))),
        ),
        "sub": (
            _member("quantity_sub", (_QUANTITY,), _QUANTITY, lambda value, other: value.plus(_negative(other))),
            _member("quantity_sub_int", (INT,), _QUANTITY, lambda value, number: value.plus(_of_int(-number))),
        ),
    },
)
