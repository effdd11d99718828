"""Equality and order of values across types."""

import pytest

from apiext.schema.cel.ast import Uint
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import INT, list_of
from apiext.schema.cel.values.equality import MISSING, compare, contains, equal, find
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, Duration, OptionalValue, Timestamp


@pytest.mark.parametrize(
    "left,right,expected",
    [
        (1, 1.0, True),
        (1, Uint(1), True),
        (9007199254740993, 9007199254740992.0, True),  # as doubles
        (True, 1, False),
        (True, 1.0, False),
        (float("nan"), float("nan"), False),
        ("1", 1, False),
        (b"a", "a", False),
        (None, None, True),
        (None, False, False),
        ([1, [True]], [1.0, [True]], True),
        ([1], [True], False),
        ([1], [1, 2], False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True),
        ({"a": 1}, {"b": 1}, False),
        ({1: "a"}, {1.0: "a"}, True),
        ({1: "a"}, {True: "a"}, False),
        (Timestamp(5, 0), Timestamp(5, 3600), True),
        (Duration(5), Timestamp(5), False),
        (OptionalValue(1), OptionalValue(1.0), True),
        (OptionalValue(None), OPTIONAL_NONE, False),
        (OPTIONAL_NONE, OPTIONAL_NONE, True),
        (list_of(INT), list_of(list_of(INT)), True),  # type values have no parameters
    ],
)
def test_equality(left: object, right: object, *, expected: bool) -> None:
    """Compare by value across numeric types, and by elements in containers."""
    assert equal(left, right) is expected
    assert equal(right, left) is expected


def test_equality_has_no_limit_of_depth() -> None:
    """Compare values that are nested deeper than Python's stack."""
    left: object = 1
    right: object = 1.0
    for _ in range(5000):
        left, right = [left], [right]

    assert equal(left, right)


def test_a_bool_is_no_key_of_a_number() -> None:
    """Find keys by CEL's equality."""
    assert find({1: "a"}, 1.0) == "a"
    assert find({1: "a"}, True) is MISSING
    assert find({1: "a"}, []) is MISSING
    assert contains([1, "a"], 1.0)
    assert not contains([1, "a"], True)


@pytest.mark.parametrize(
    "left,right,expected",
    [(1, 1.5, -1), (Uint(2), 1, 1), (False, True, -1), ("b", "a", 1), (b"a", b"a", 0), (Timestamp(1), Timestamp(2), -1)],
)
def test_order(left: object, right: object, expected: int) -> None:
    """Order numbers across types, and others within their type."""
    assert compare(left, right) == expected


@pytest.mark.parametrize(
    "left,right,message",
    [
        (1, "a", "no such overload"),
        (True, 1, "no such overload"),
        ([1], [1], "no such overload"),
        (float("nan"), 1, "NaN values cannot be ordered"),
    ],
)
def test_values_without_an_order(left: object, right: object, message: str) -> None:
    """Refuse to order values of other types, and NaN."""
    with pytest.raises(CelError, match=message):
        compare(left, right)
