"""Results of two runners, case by case."""

import json
from pathlib import Path

from apiext.tools.suites.model import CaseKind, CaseOutcome, CaseResult, FinishedCase, Suite, SuiteCase, SuiteVariant
from hack.lib.suites.comparison import differences, report_lines
from hack.lib.suites.ginkgo_report import read_report, results_of

SUITE = (
    '[example.com/v1, Resource=widgets][ClusterProfiles=A,B][FeatureSet="Default"]'
    "[FeatureGate=X,-Y][File=default.crd.yaml] [Stable] Widgets"
)


def _spec(name: str, state: str, kind: str = "On Create") -> dict[str, object]:
    failure: dict[str, object] = {"Failure": {"Message": "why"}} if state == "failed" else {}
    return {"ContainerHierarchyTexts": ["", SUITE, kind], "LeafNodeType": "It", "LeafNodeText": name, "State": state} | failure


def _case(name: str, outcome: CaseOutcome, kind: CaseKind = CaseKind.ON_CREATE) -> FinishedCase:
    suite = Suite(Path("a.yaml"), "[Stable] Widgets", "widgets.example.com", "v1", ("X", "-Y"), (), {}, ())
    return FinishedCase(
        SuiteVariant(suite, Path("f/default.crd.yaml"), "", "default"), SuiteCase(kind, 0, name, 1, {}), CaseResult(outcome)
    )


def test_differences(tmp_path: Path) -> None:
    """Equal outcomes, errors for failures, and cases that the reference did not run are no differences."""
    specs = [_spec("a", "passed"), _spec("a", "failed"), _spec("b", "skipped"), _spec("c", "passed", "On Update"), _spec("d", "failed")]
    (tmp_path / "report.json").write_text(json.dumps([{"SpecReports": [*specs, {"LeafNodeType": "BeforeSuite"}]}]))
    reference = read_report(tmp_path / "report.json")
    ours = results_of(
        [
            _case("a", CaseOutcome.FAILED),
            _case("a", CaseOutcome.PASSED),
            _case("b", CaseOutcome.PASSED),
            _case("c", CaseOutcome.FAILED, CaseKind.ON_UPDATE),
            _case("d", CaseOutcome.ERROR),
            _case("e", CaseOutcome.PASSED),
        ]
    )

    different = differences(reference, ours)

    assert [key.case for key in different] == ["e", "c"]
    lines = list(report_lines(reference, ours, different))
    assert lines[0] == "kube-apiserver: 5 cases: 2 passed, 2 failed, 1 not run"
    assert lines[-1] == "2 differences"
