"""Conditions in a status."""

from typing import Any

from apiext.definitions import conditions
from apiext.definitions.conditions import Condition

OLD = "2020-01-01T00:00:00Z"


def _crd(*existing: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": list(existing)}}


def test_the_time_changes_with_the_status() -> None:
    """A condition that says something else about the same status keeps its time; a new status has a new one."""
    crd = _crd({"type": "Established", "status": "False", "lastTransitionTime": OLD, "reason": "a", "message": "b"})

    conditions.put(crd, Condition("Established", "False", "c", "d"))
    same = conditions.find(crd, "Established")
    conditions.put(crd, Condition("Established", "True", "c", "d"))
    changed = conditions.find(crd, "Established")

    assert same is not None
    assert (same["lastTransitionTime"], same["reason"], same["message"]) == (OLD, "c", "d")
    assert changed is not None
    assert changed["lastTransitionTime"] != OLD


def test_conditions_keep_their_order_and_others_are_left_alone() -> None:
    """A known condition is replaced where it stands, a new one added at the end, a removed one leaves the others."""
    first, second = {"type": "A", "status": "True"}, {"type": "B", "status": "True"}
    crd = _crd(first, second)

    conditions.put(crd, Condition("A", "False", "", ""))
    conditions.put(crd, Condition("C", "True", "", ""))
    conditions.remove(crd, "B")

    assert [condition["type"] for condition in crd["status"]["conditions"]] == ["A", "C"]
    assert first == {"type": "A", "status": "True"}


def test_only_a_condition_that_is_there_and_true_is_true() -> None:
    """False, Unknown and absent are not True."""
    crd = _crd({"type": "A", "status": "True"}, {"type": "B", "status": "Unknown"})

    assert [conditions.is_true(crd, name) for name in ("A", "B", "C")] == [True, False, False]
