"""Tests of field sets: their JSON, order and algebra, against answers of the reference and by laws."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.resources.managedfields import element, field_set
from apiext.resources.managedfields.field_set import ITSELF, LEAF, FieldSet
from tests.support.field_sets import written

CASES = json.loads((Path(__file__).parent / "data" / "field_sets.json").read_text())

SCALARS = st.one_of(st.integers(-5, 5), st.booleans(), st.text(max_size=3), st.sampled_from([1.5, -0.25, 2**53 - 1]))
ELEMENTS = st.one_of(
    st.text(max_size=3).map("f:{}".format),
    SCALARS.map(element.of_value),
    st.dictionaries(st.sampled_from(["a", "b", "name"]), SCALARS, min_size=1).map(lambda keys: element.of_keys(sorted(keys.items()))),
    st.integers(0, 9).map("i:{}".format),
)
PATHS = st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=12).map(lambda paths: field_set.from_paths(*paths))


def members(fields: FieldSet) -> set[tuple[str, ...]]:
    """Return the paths of a set."""
    return set(field_set.paths(fields))


@pytest.mark.parametrize("case", CASES["operations"])
def test_operations(case: dict[str, Any]) -> None:
    """Compare the results of the reference for two sets."""
    left, right = field_set.parse(json.loads(case["a"])), field_set.parse(json.loads(case["b"]))

    assert written(left) == case["json"]
    assert written(field_set.union(left, right)) == case["union"]
    assert written(field_set.intersection(left, right)) == case["intersection"]
    assert written(field_set.difference(left, right)) == case["difference"]
    assert written(field_set.recursive_difference(left, right)) == case["recursive"]
    assert (left == right) is case["equal"]


@pytest.mark.parametrize("case", CASES["printed"])
def test_json_order_and_printed_paths(case: dict[str, Any]) -> None:
    """Compare bytes and the texts of paths, in order, with the reference."""
    fields = field_set.parse(json.loads(case["a"]))

    assert written(fields) == case["json"]
    assert ["".join(map(element.text, path)) for path in field_set.paths(fields)] == case["paths"]


@pytest.mark.parametrize("case", CASES["invalid"])
def test_invalid_sets(case: str) -> None:
    """Reject what the reference rejects."""
    with pytest.raises(ValueError, match=r"\w"):
        field_set.parse(json.loads(case))


@given(SETS)
def test_a_written_set_is_read_again(fields: FieldSet) -> None:
    """Expect the same set after writing and reading it."""
    assert field_set.parse(json.loads(written(fields))) == fields
    assert field_set.from_paths(*field_set.paths(fields)) == fields


@given(SETS, SETS)
def test_laws(left: FieldSet, right: FieldSet) -> None:
    """Expect the laws of set algebra, and arguments that did not change."""
    before = json.dumps([left, right])

    assert members(field_set.union(left, right)) == members(left) | members(right)
    assert members(field_set.intersection(left, right)) == members(left) & members(right)
    assert members(field_set.difference(left, right)) == members(left) - members(right)
    gone = members(right)
    assert members(field_set.recursive_difference(left, right)) == {
        path for path in members(left) if not any(path[:length] in gone for length in range(1, len(path) + 1))
    }
    assert field_set.union_all([left, right, left]) == field_set.union(left, right)
    assert field_set.union(left, LEAF) == field_set.union(LEAF, left) == left
    assert json.dumps([left, right]) == before


@given(SETS, SETS)
def test_results_have_their_short_form(left: FieldSet, right: FieldSet) -> None:
    """Expect that results contain no redundant key, so that equal sets are equal dicts."""
    operations = (field_set.union, field_set.intersection, field_set.difference, field_set.recursive_difference)
    for operation in operations:
        result = operation(left, right)
        assert result == field_set.parse(result)
        assert ITSELF not in result
