"""Tests of dividing seats."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.flowcontrol.controller import MIN_TARGET, AllocationItem, allocate

SIZES = st.floats(0, 20)
ITEMS = st.lists(
    st.builds(lambda low, target, high: AllocationItem(low, low + high, low + target), SIZES, SIZES, SIZES), min_size=1, max_size=9
)


@given(ITEMS, st.floats(0, 1))
def test_shares(items: list[AllocationItem], part: float) -> None:
    """Divide the whole total, in proportion to the targets as far as the bounds allow."""
    low, high = sum(item.lower_bound for item in items), sum(item.upper_bound for item in items)
    total = low + (high - low) * part

    shares, proportion = allocate(total, items)

    assert sum(shares) == pytest.approx(total, abs=1e-5)
    for item, share in zip(items, shares, strict=True):
        wanted = proportion * max(item.target, MIN_TARGET)
        assert share == pytest.approx(max(item.lower_bound, min(item.upper_bound, wanted)), rel=1e-4, abs=1e-5)


def test_equal_targets() -> None:
    """Divide equally among items that want the same."""
    items = [AllocationItem(0, 100, 10), AllocationItem(0, 100, 10), AllocationItem(0, 1, 10)]

    shares, proportion = allocate(9, items)

    assert shares == pytest.approx([4, 4, 1])
    assert proportion == pytest.approx(0.4)


def test_nothing_to_divide() -> None:
    """Divide nothing among items that need nothing."""
    assert allocate(0, [AllocationItem(0, 1, 1)]) == ([0], 0)
    assert allocate(0, []) == ([], 0)


@pytest.mark.parametrize(
    "total, item",
    [
        (-1, AllocationItem(0, 1, 1)),
        (1, AllocationItem(2, 3, 3)),
        (4, AllocationItem(2, 3, 3)),
        (2, AllocationItem(2, 3, 1)),
        (2, AllocationItem(2, 1, 3)),
        (0, AllocationItem(-1, 1, 0)),
        (math.inf, AllocationItem(0, 1, 0)),
    ],
)
def test_contradictions(total: float, item: AllocationItem) -> None:
    """Refuse bounds and targets that contradict each other or the total."""
    with pytest.raises(ValueError, match=r"bound|negative"):
        allocate(total, [item])
