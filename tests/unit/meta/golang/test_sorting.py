"""Sorting as Go's sort.Slice does."""

import pytest

from apiext.meta.golang.sorting import go_sort
from tests.support.builders.seeds import seeded


@pytest.mark.parametrize(
    "keys, order",
    [
        ("10101", "1 3 0 2 4"),
        ("0120120120120", "6 3 0 9 12 1 4 7 10 2 5 8 11"),
        ("54325432543254325432", "7 19 15 3 11 10 14 18 2 6 9 13 17 5 1 4 12 0 8 16"),
        ("00000000000000", "0 1 2 3 4 5 6 7 8 9 10 11 12 13"),
        ("999888777666555444333222111000", "27 29 28 24 26 25 23 22 21 20 19 18 15 17 16 14 13 12 9 11 10 8 7 6 5 4 3 0 2 1"),
        (
            "422403101023134041013213101443110011112214111320231",
            (
                "9 47 33 32 4 25 18 7 15 36 40 50 12 44 43 8 42 17 6 19 37 35 22 34 24 31 "
                "26 30 38 39 48 1 46 2 21 10 13 45 29 11 23 49 5 20 14 28 3 16 27 41 0"
            ),
        ),
        (
            "0142241014224101422410142241014224101422410142241014224",
            (
                "42 21 28 49 14 35 0 7 41 15 6 36 43 13 48 8 34 29 50 27 20 1 22 25 38 53 "
                "52 3 18 17 4 31 32 46 45 10 11 39 24 47 30 12 9 5 44 40 16 37 33 19 2 51 26 23 54"
            ),
        ),
    ],
)
def test_leaves_equal_items_in_the_order_of_go(keys: str, order: str) -> None:
    """Equal items, here the places of equal digits, have the order that Go leaves them in."""
    places = list(range(len(keys)))

    go_sort(places, lambda left, right: keys[left] < keys[right])

    assert places == [int(place) for place in order.split()]


@pytest.mark.parametrize("length", [0, 1, 12, 13, 49, 50, 51, 400])
@pytest.mark.parametrize("values", [1, 2, 7, 1000])
def test_sorts(length: int, values: int) -> None:
    """Every list is sorted."""
    rng = seeded(f"{length} {values}")
    items = [rng.randrange(values) for _ in range(length)]
    expected = sorted(items)

    go_sort(items, lambda left, right: left < right)

    assert items == expected
