"""The depth limit, copies and equality of JSON values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import copy, count_members, depth, equal, is_deeper, share, transform

_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3))


def nested(levels: int, inside: Any = 1) -> Any:
    """Return objects and lists in turn, `levels` of them."""
    value = inside
    for level in range(levels):
        value = {"a": value, "b": level} if level % 2 else [level, value]
    return value


@pytest.mark.parametrize("value, levels", [(1, 0), ([], 1), ({"a": 1, "b": [{}]}, 3), (nested(5), 5), (nested(20_000), 20_000)])
def test_measures_depth(value: Any, levels: int) -> None:
    """Count objects and lists, however deep; scalars are no level."""
    assert depth(value) == levels
    assert not is_deeper(value, levels)
    assert levels == 0 or is_deeper(value, levels - 1)


@given(_VALUES)
def test_copies_equal_and_share_nothing(value: Any) -> None:
    """Return an equal value that later changes do not reach."""
    copied = copy(value)
    before = json_codec.dumps(copied)
    _modify(value)

    assert before == json_codec.dumps(copied)


def _modify(value: Any) -> None:
    if isinstance(value, dict):
        for member in value.values():
            _modify(member)
        value["added"] = True
    elif isinstance(value, list):
        for item in value:
            _modify(item)
        value.append("added")


@given(_VALUES)
def test_equals_its_copy(value: Any) -> None:
    """Find a value and its copy equal, whatever the order of members."""
    other = copy(value)
    if isinstance(other, dict):
        other = dict(reversed(other.items()))

    assert equal(value, other)


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [{"a": value}], lambda value: nested(300, value)])
@pytest.mark.parametrize("left, right", [(1, True), (1, 1.0), (0, False), ("1", 1), (None, False), ([], {}), (1, 2), ({"a": None}, {})])
def test_tells_types_apart(left: Any, right: Any, wrap: Any) -> None:
    """Tell 1, 1.0 and true apart at any depth, as Go's reflect.DeepEqual does."""
    assert not equal(wrap(left), wrap(right))
    assert equal(wrap(left), wrap(left))


def test_negative_zero_equals_zero() -> None:
    """Find -0.0 equal to 0.0, as Go does, although they are written differently."""
    assert equal({"a": -0.0}, {"a": 0.0})


def test_transforms_scalars() -> None:
    """Apply the function to each scalar of a copy and leave the given value as it is."""
    value = {"a": [1, {"b": 2}], "c": 3}

    assert transform(value, lambda scalar: scalar + 1) == {"a": [2, {"b": 3}], "c": 4}
    assert value == {"a": [1, {"b": 2}], "c": 3}


@given(st.dictionaries(st.text(max_size=2), _VALUES, max_size=3), st.dictionaries(st.text(max_size=2), _VALUES, max_size=3))
def test_shares_equal_members(new: dict[str, Any], old: dict[str, Any]) -> None:
    """Replace equal values by the others themselves, and nothing else."""
    old = old | {"both": copy(new.get("both", {"a": [1]}))}
    before, shared = copy(new), new | {"both": copy(old["both"])}
    is_same = share(shared, old)

    assert shared["both"] is old["both"]
    assert equal(shared, before | {"both": old["both"]})
    assert is_same == equal(shared, old)


def test_shares_below_objects_that_differ() -> None:
    """Share the members of objects that differ; 1 and true, 1.0 and 1 differ."""
    old = {"a": {"list": [{"x": 1}], "flag": True, "number": 1.0, "gone": None}}
    new = {"a": {"list": [{"x": 1}], "flag": 1, "number": 1, "more": None}}

    assert not share(new, old)
    assert new["a"]["list"] is old["a"]["list"]
    assert (type(new["a"]["flag"]), type(new["a"]["number"])) == (int, int)


def test_shares_deep_objects() -> None:
    """Compare deep objects once, as a whole."""
    old = nested(400)
    new = {"a": copy(old)}

    assert share(new, {"a": old})
    assert new["a"] is old


@given(_VALUES, st.integers(0, 10))
def test_counts_members(value: Any, at_most: int) -> None:
    """Count the members of all objects and lists; above the limit, count some of them at least."""
    whole, found = _count(value), count_members(value, at_most=at_most)

    assert found == whole if whole <= at_most else at_most < found <= whole


def _count(value: Any) -> int:
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(members) + sum(map(_count, members))
