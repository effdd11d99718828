"""Short sentences about plans."""

from apiext.tools.judgement.outcome import ObjectsReport
from apiext.tools.plan import summary
from tests.support.builders.plans import ListedObjects, created, custom, only, plan_of, shaped

ONE = created(shaped("v1", "a", storage=True))
MOVED = plan_of(ONE, created(shaped("v1", "a"), shaped("v2", "a", storage=True)), ListedObjects(custom("w", a="x")))


def test_lines() -> None:
    """Say what was planned, what changes, what is stored, and whether a rollback is possible."""
    found = only(MOVED)
    assert found.versions is not None
    assert found.way_back is not None

    assert summary.headline(MOVED) == "new replaces old, objects of a list"
    assert summary.changes_line(found) == "2 notes"
    assert summary.versions_line(found.versions) == "1 in v1; storedVersions v1 -> v1, v2 -> v2"
    assert summary.rollback_line(found.way_back) == "rollback in 6 steps (loses or refuses 2 kinds of later writes)"
    assert [summary.step_title(number, step) for number, step in enumerate(found.steps, 1)][1] == "2. Store all objects in v2 (later)"
    assert summary.unchanged_line(plan_of(ONE, ONE)) == "1 definition unchanged"
    assert summary.unchanged_line(MOVED) == ""


def test_objects() -> None:
    """Name what is not zero."""
    report = ObjectsReport(total=9, unchanged=5, invalid=3, tolerated=2, stuck=1, cost_share=0.25, cost_object="default/w")

    assert summary.objects_line(report) == (
        "9 objects, 5 unchanged, 3 invalid, 2 of them still updatable (ratcheting), 1 stuck, "
        "rules use up to 25 % of their cost budget (default/w)"
    )
    assert summary.objects_line(ObjectsReport()) == "0 objects, 0 unchanged"
    assert summary.objects_line(ObjectsReport(total=2, unchanged=2, only_new=1)) == "2 objects, 2 unchanged, 1 of the new release only"
