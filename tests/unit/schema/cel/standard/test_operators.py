"""Operators over integers against Python's unlimited ones."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.limits import MAX_CEL_RESULT
from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.standard.operators import add, divide, modulo, multiply, negate, subtract
from apiext.schema.cel.values.run_time_values import INT_MAX, INT_MIN

INTS = st.integers(INT_MIN, INT_MAX) | st.sampled_from([INT_MIN, INT_MAX, -1, 0, 1])


@pytest.mark.parametrize("operator,exact", [(add, int.__add__), (subtract, int.__sub__), (multiply, int.__mul__)])
@given(left=INTS, right=INTS)
def test_results_of_more_than_64_bits_are_errors(
    operator: Callable[[int, int], object], exact: Callable[[int, int], int], left: int, right: int
) -> None:
    """Compute exactly or fail."""
    expected = exact(left, right)
    if INT_MIN <= expected <= INT_MAX:
        assert operator(left, right) == expected
    else:
        with pytest.raises(CelError, match="integer overflow"):
            operator(left, right)


@pytest.mark.parametrize("value", ["x", b"x", [1]])
def test_sums_are_bounded(value: Any) -> None:
    """Refuse to add texts and lists whose sum is too long: each such addition costs as little as one of numbers."""
    half = value * (MAX_CEL_RESULT // 2)

    assert add(half, half) == value * MAX_CEL_RESULT
    with pytest.raises(BudgetError):
        add(half, half + value)


@given(left=INTS, right=INTS)
def test_division_truncates(left: int, right: int) -> None:
    """Divide towards zero; the remainder has the sign of the dividend."""
    if right == 0 or (left == INT_MIN and right == -1):
        for operator in (divide, modulo):
            with pytest.raises(CelError):
                operator(left, right)
        return
    quotient, remainder = divide(left, right), modulo(left, right)

    assert isinstance(quotient, int)
    assert isinstance(remainder, int)
    assert quotient * right + remainder == left
    assert abs(remainder) < abs(right)
    assert remainder == 0 or (remainder < 0) is (left < 0)


def test_the_least_int_has_no_negative() -> None:
    """Fail where two's complement would."""
    with pytest.raises(CelError, match="integer overflow"):
        negate(INT_MIN)
