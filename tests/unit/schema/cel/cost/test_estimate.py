"""Tests of ranges of costs and sizes."""

import pytest

from apiext.schema.cel.cost.estimate import MAX_UINT64, Estimate, exactly


def test_unions_include_both() -> None:
    """A union reaches from the lesser minimum to the greater maximum."""
    assert Estimate(3, 5).union(Estimate(1, 4)) == Estimate(1, 5)


@pytest.mark.parametrize(
    "value, factor, expected",
    [(10, 0.1, 1), (11, 0.1, 2), (30, 0.1, 3), (0, 0.1, 0), (7, 0, 0), (2**53 + 1, 1, 2**53), (MAX_UINT64, 2, MAX_UINT64)],
)
def test_factors_have_the_precision_of_doubles(value: int, factor: float, expected: int) -> None:
    """Products are rounded up to integers after they were computed as doubles."""
    assert exactly(value).scaled(factor) == exactly(expected)
