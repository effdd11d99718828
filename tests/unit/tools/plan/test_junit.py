"""A plan as JUnit XML."""

from xml.etree import ElementTree as ET

from apiext.tools.plan.junit import junit_of
from apiext.tools.plan.plan import ReleasePlan
from apiext.tools.releases.interface import Release
from tests.support.builders.plans import NAME, ListedObjects, created, custom, plan_of, shaped

ONE = created(shaped("v1", "a", "b", storage=True))


def _cases(plan: ReleasePlan) -> dict[str, ET.Element]:
    root = ET.fromstring(junit_of(plan))  # noqa: S314 -- apiext has written it
    (suite,) = root
    assert root.get("tests") == suite.get("tests") == str(len(suite))
    assert suite.get("name") == NAME
    return {str(case.get("name")): case for case in suite}


def test_a_case_for_each_rule_and_finding() -> None:
    """Fail the cases that make the plan breaking."""
    cases = _cases(plan_of(ONE, created(shaped("v1", "a", storage=True)), ListedObjects(custom("w\x07", a="x", b="y"))))

    assert [name for name, case in cases.items() if case.find("failure") is not None] == [
        "fieldRemoved v1 spec.b",
        "objects pruned v1 spec.b",
    ]
    assert list(cases) == ["fieldRemoved v1 spec.b", "objects pruned v1 spec.b", "verdict", "rollback"]


def test_a_safe_plan_passes() -> None:
    """Have no failure."""
    cases = _cases(plan_of(ONE, created(shaped("v1", "a", "b", "c", storage=True))))

    assert [name for name, case in cases.items() if case.find("failure") is not None] == []
    assert cases["rollback"].findtext("system-out", "").startswith("rollback possible")


def test_other_reasons_fail_the_verdict() -> None:
    """Fail where no change or finding has the reason."""
    case = _cases(plan_of(ONE, Release("new", {}, {NAME: ["x"]})))["verdict"]

    assert case.findtext("failure") == "kube-apiserver refuses the definition: x"
