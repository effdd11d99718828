"""Plans of releases whose versions rules convert."""

from dataclasses import replace
from typing import Any, Final

from apiext.resources.definitions.definition import Definition
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan.plan import DefinitionPlan, Safety, State
from apiext.tools.releases.interface import Release
from tests.support.builders.converted_widgets import conversion
from tests.support.builders.plans import NAME, ListedObjects, created, custom, only, plan_of, release, shaped

OLD: Final = created(shaped("v1", "size", storage=True))
NEW: Final = created(shaped("v1", "size"), shaped("v2", "capacity", storage=True))
OBJECTS: Final = [custom(f"w{number}", size="x") for number in range(3)]


def _plan(old: Definition, new: Definition, before: Any = None, after: Any = None) -> DefinitionPlan:
    return only(plan_of(_release(old, before), _release(new, after), ListedObjects(*OBJECTS)))


def _release(definition: Definition, rules: Any) -> Release:
    return replace(release(definition), conversions={NAME: rules} if rules is not None else {})


def test_rules_of_a_release() -> None:
    """Judge objects by the rules of the new release, on the way back by those of the old one."""
    without, converted = _plan(OLD, NEW), _plan(OLD, NEW, after=conversion())

    assert without.objects is not None
    assert converted.objects is not None
    assert {finding.kind for finding in without.objects.findings} >= {FindingKind.LOST}
    assert list(converted.objects.findings) == []
    assert without.verdict is Safety.BREAKING
    assert converted.verdict is not Safety.BREAKING


def test_changed_rules() -> None:
    """Judge a release that changes nothing but rules, and name objects that invalid rules cannot convert."""
    same = _plan(NEW, NEW, conversion(), conversion())
    broken = _plan(NEW, NEW, conversion(), conversion({"rename": {"path": "spec[", "to": "x"}}))

    assert same.state is State.UNCHANGED
    assert (broken.state, broken.verdict) == (State.CHANGED, Safety.BREAKING)
    assert broken.objects is not None
    assert {finding.kind for finding in broken.objects.findings} == {FindingKind.UNCONVERTIBLE}
