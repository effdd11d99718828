"""Tests of checks, field sets, comparison and merge of typed values, against answers of the reference."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from apiext.resources.managedfields import validation
from apiext.resources.managedfields.comparison import compare, everything, leaves, same
from apiext.resources.managedfields.merging import merge
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.updater import remove, with_named_fields
from apiext.schema.model import Structural
from tests.support.field_sets import written

CASES = json.loads((Path(__file__).parent / "data" / "typed_values.json").read_text())
TYPES = {name: from_schema(Structural(schema)) for name, schema in CASES["schemas"].items()}


def name_of(case: dict[str, Any]) -> str:
    """Return a name for a case."""
    return json.dumps([case.get("a", case.get("value")), case.get("b", "")])


@pytest.mark.parametrize("case", CASES["pairs"], ids=name_of)
def test_pairs(case: dict[str, Any]) -> None:
    """Compute field sets, differences, merges and removals as the reference does for the same pairs of values."""
    merge_type, left, right = TYPES[case["schema"]], case["a"], case["b"]
    before = orjson.dumps([left, right])

    fields = leaves(merge_type, left)
    assert written(fields) == case["set"]
    assert written(with_named_fields(merge_type, fields)) == case["named"]
    difference = compare(merge_type, left, right)
    assert [written(found) for found in difference] == [case["removed"], case["modified"], case["added"]]
    if "merged" in case:
        assert same(merge(merge_type, left, right), case["merged"])
    else:
        with pytest.raises(validation.InvalidValueError, match="duplicate entries"):
            validation.check(merge_type, right)
    assert same(remove(merge_type, left, leaves(merge_type, right)), case["left"])
    assert orjson.dumps([left, right]) == before


@pytest.mark.parametrize("case", CASES["invalid"], ids=name_of)
def test_checks(case: dict[str, Any]) -> None:
    """Compare the errors for values of a wrong type, and for duplicate items."""
    for duplicates, expected in ((False, case["error"]), (True, case["live"])):
        found = None
        try:
            validation.check(TYPES[case["schema"]], case["value"], duplicates=duplicates)
        except validation.InvalidValueError as error:
            found = str(error)
        assert found == expected


@pytest.mark.parametrize("case", CASES["invalid"], ids=name_of)
def test_checks_of_changes(case: dict[str, Any]) -> None:
    """Expect that a value is checked where it differs from a checked one, and nowhere else."""
    merge_type, value = TYPES[case["schema"]], case["value"]

    validation.check_changed(merge_type, value, orjson.loads(orjson.dumps(value)))
    if case["live"] is None:
        validation.check_changed(merge_type, value, {})
    else:
        with pytest.raises(validation.InvalidValueError):
            validation.check_changed(merge_type, value, {})


def test_everything_of_a_map_without_parts() -> None:
    """Take each declared field of a map whose fields have nothing below, whatever its value is."""
    properties = {"name": {"type": "string"}, "ports": {"type": "array", "items": {"type": "object"}}}
    merge_type = from_schema(Structural({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}))
    spec = merge_type.map.fields["spec"][1] if merge_type.map is not None else merge_type

    assert everything(spec, {"name": "a", "ports": [{"x": 1}], "odd": 1}) == {".": {}, "f:name": {}, "f:ports": {}}
    assert everything(spec, {"ports": None}) == {".": {}, "f:ports": {}}
    assert everything(spec, {}) == {}
