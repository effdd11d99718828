"""Conditions in a status."""

from typing import Any

from apiext.resources.definitions import conditions
from apiext.resources.definitions.conditions import Condition

OLD = "2020-01-01T00:00:00Z"


def _crd(*existing: dict[str, Any]) -> dict[str, Any]:
    return {"status": {"conditions": list(existing)}}


def test_transition_time_changes_with_the_status() -> None:
    """Keep the transition time of an unchanged status; set a new one with a new status."""
    crd = _crd({"type": "Established", "status": "False", "lastTransitionTime": OLD, "reason": "a", "message": "b"})

    conditions.put(crd, Condition("Established", "False", "c", "d"))
    same = conditions.find(crd, "Established")
    conditions.put(crd, Condition("Established", "True", "c", "d"))
    changed = conditions.find(crd, "Established")

    assert same is not None
    assert (same["lastTransitionTime"], same["reason"], same["message"]) == (OLD, "c", "d")
    assert changed is not None
    assert changed["lastTransitionTime"] != OLD


def test_keeps_order_and_other_conditions() -> None:
    """Replace a condition in place, append a new one, and keep the others."""
    first, second = {"type": "A", "status": "True"}, {"type": "B", "status": "True"}
    crd = _crd(first, second)

    conditions.put(crd, Condition("A", "False", "", ""))
    conditions.put(crd, Condition("C", "True", "", ""))
    conditions.remove(crd, "B")

    assert [condition["type"] for condition in crd["status"]["conditions"]] == ["A", "C"]
    assert first == {"type": "A", "status": "True"}


def test_is_true_only_for_status_true() -> None:
    """Report False, Unknown and missing conditions as not true."""
    crd = _crd({"type": "A", "status": "True"}, {"type": "B", "status": "Unknown"})

    assert [conditions.is_true(crd, name) for name in ("A", "B", "C")] == [True, False, False]
