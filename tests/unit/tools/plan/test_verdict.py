"""From changes, findings and steps to a verdict."""

import pytest

from apiext.resources.comparison.change import Change, Grade, Hurts
from apiext.tools.judgement.outcome import FindingKind, NotJudged, ObjectFinding, ObjectsReport
from apiext.tools.plan import verdict
from apiext.tools.plan.plan import Safety, worst
from tests.support.builders.plans import created, only, plan_of, shaped

ONE = created(shaped("v1", "a", storage=True))


def _finding(kind: FindingKind, *, count: int = 5, already: int = 0) -> ObjectFinding:
    return ObjectFinding(kind, "v1", "spec.a", "text", count=count, already=already, examples=[f"o{number}" for number in range(count)])


def _change(grade: Grade, rule: str = "fieldRemoved") -> Change:
    return Change(rule, "v1", "spec.a", "gone", Hurts.CLIENTS, grade)


def test_order() -> None:
    """Take the worst verdict. Exit codes follow the order."""
    assert [one.exit_code for one in Safety] == [0, 1, 2]
    assert worst([Safety.STEPS, Safety.BREAKING, Safety.SAFE]) is Safety.BREAKING
    assert worst([]) is Safety.SAFE


def test_changes() -> None:
    """Break by errors that no step solves."""
    changes = [_change(Grade.ERROR), _change(Grade.WARNING), _change(Grade.ERROR, "storedVersionRemoved")]

    assert verdict.breaks_by_changes(changes, ["storedVersionRemoved"]) == ["v1 spec.a: gone"]
    assert verdict.breaks_by_changes([Change("x", "", "", "gone", Hurts.CLIENTS, Grade.ERROR)]) == ["gone"]


@pytest.mark.parametrize("kind", FindingKind)
def test_findings(kind: FindingKind) -> None:
    """Break by harm that the old definition does not do."""
    report = ObjectsReport(findings=[_finding(kind)])
    known = ObjectsReport(findings=[_finding(kind, already=5)])
    harms = kind in verdict.HARMS

    assert verdict.breaks_by_objects(report) == (["5 objects: v1 spec.a: text (o0, o1, o2, ...)"] if harms else [])
    assert verdict.breaks_by_objects(report, frozenset({kind})) == verdict.breaks_by_objects(known) == []
    if harms:
        assert verdict.cautions_by_objects(report) == []


def test_every_kind_of_finding_is_decided() -> None:
    """Decide about each kind: harm, a caution, or nothing."""
    harmless = {FindingKind.DEFAULTED, FindingKind.GAINED, FindingKind.INVALID, FindingKind.TOLERATED, FindingKind.CONFLICT}

    assert set(FindingKind) == verdict.HARMS | harmless


def test_cautions() -> None:
    """Say what was not judged."""
    report = ObjectsReport(findings=[_finding(FindingKind.TOLERATED, count=1)], not_judged=[NotJudged("conversion", "nobody answers")])

    assert verdict.cautions_by_objects(report) == [
        "1 object: v1 spec.a: text (o0)",
        "conversion: not judged, since nobody answers",
    ]
    assert verdict.cautions_by_objects(None) == []


def test_steps() -> None:
    """Tell a plan with needed steps from one that only applies the definition."""
    moved = only(plan_of(ONE, created(shaped("v1", "a"), shaped("v2", "a", storage=True))))
    replaced = only(plan_of(ONE, created(shaped("v2", "a", storage=True))))

    assert verdict.verdict_of([], moved.steps) is Safety.SAFE
    assert verdict.verdict_of([], replaced.steps) is Safety.STEPS
    assert verdict.verdict_of(["x"], moved.steps) is Safety.BREAKING


def test_warnings() -> None:
    """Find plans that a person should look at."""
    assert not verdict.has_warnings(plan_of(ONE, ONE))
    names = {"plural": "widgets", "singular": "gizmo", "kind": "Widget", "listKind": "WidgetList"}
    assert verdict.has_warnings(plan_of(ONE, created(shaped("v1", "a", storage=True), names=names)))
