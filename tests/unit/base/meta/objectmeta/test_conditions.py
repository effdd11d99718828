"""Conditions of built-in kinds."""

from typing import Any

import pytest

from apiext.base.meta.field import Path
from apiext.base.meta.objectmeta import conditions

GOOD = {"type": "Running", "status": "True", "lastTransitionTime": "2001-01-01T00:00:00Z", "reason": "R", "message": ""}


@pytest.mark.parametrize(
    "change, expected",
    [
        ({}, []),
        ({"type": ""}, ["[0].type: Required value: is required"]),
        ({"status": ""}, ["[0].status: Required value"]),
        ({"status": "Yes"}, ['[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"']),
        ({"observedGeneration": -1}, ["[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero"]),
        ({"lastTransitionTime": None}, ["[0].lastTransitionTime: Required value"]),
        ({"reason": ""}, ["[0].reason: Required value"]),
        ({"reason": "a" * 1025}, ["[0].reason: Too long: may not be more than 1024 bytes"]),
        ({"message": "\u00e4" * 16_385}, ["[0].message: Too long: may not be more than 32768 bytes"]),
    ],
)
def test_errors(change: dict[str, Any], expected: list[str]) -> None:
    """Return one error for each rule that a condition breaks."""
    assert [str(error) for error in conditions.condition_errors([GOOD | change], Path())] == expected


def test_errors_of_names() -> None:
    """Reject a type that is no qualified name, a malformed reason and a second condition of a type."""
    bad = [GOOD | {"type": "a b", "reason": "1"}, GOOD, GOOD]

    found = [str(error) for error in conditions.condition_errors(bad, Path("status"))]

    assert [text.partition(":")[0] for text in found] == ["status[0].type", "status[0].reason", "status[2]"]
    assert "a condition reason must start with alphabetic character" in found[1]
    assert found[2] == 'status[2]: Duplicate value: "Running"'


def test_with_condition() -> None:
    """Add a condition, change one, and keep the time of one whose status stays the same."""
    added = conditions.with_condition([GOOD], {"type": "Failed", "status": "True", "reason": "F", "message": "m"})
    same = conditions.with_condition([GOOD], {"type": "Running", "status": "True", "reason": "R", "message": "new"})
    changed = conditions.with_condition([GOOD], {"type": "Running", "status": "False", "reason": "Done", "message": ""})

    assert [condition["type"] for condition in added] == ["Running", "Failed"]
    assert same == [GOOD | {"message": "new"}]
    assert changed[0]["lastTransitionTime"] > GOOD["lastTransitionTime"]
    assert conditions.is_true(added, "Failed")
    assert not conditions.is_true(changed, "Running")
    assert not conditions.is_true([], "Running")
