"""Expectations rewritten in suite files."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from apiext.tools.suites.expectation_update import FileUpdate, updates_of
from apiext.tools.suites.model import CaseOutcome, CaseResult, FinishedCase, SuiteVariant
from apiext.tools.suites.suite_file import SuiteFiles

HEAD = "crdName: a.b\ntests:\n"
FOUND = {"kind": "A", "spec": {"a": "1", "b": ["x"]}}


def _shown(column: int) -> str:
    """Return FOUND as lines of YAML that begin at a column."""
    return textwrap.indent('kind: A\nspec:\n  a: "1"\n  b:\n  - x\n', " " * column)


def _updated(path: Path, text: str, *corrections: dict[str, Any]) -> FileUpdate:
    """Return the update of a suite whose only failed case is its last, once for each correction."""
    path.write_text(HEAD + text)
    suite = SuiteFiles().read(path)
    outcome = [CaseResult(CaseOutcome.FAILED if each else CaseOutcome.PASSED, correction=each) for each in corrections]
    runs = [FinishedCase(SuiteVariant(suite, path, "", str(number)), suite.cases[-1], result) for number, result in enumerate(outcome)]
    (found,) = updates_of(runs)
    return found


@pytest.mark.parametrize(
    "before,correction,after",
    [
        (
            "  onCreate:\n  - name: a  # x\n    initial: i\n    expected: |\n      kind: B\n\n      # gone\n    # stays\n",
            {"expected": FOUND},
            f"  onCreate:\n  - name: a  # x\n    initial: i\n    expected: |\n{_shown(6)}    # stays\n",
        ),
        (
            "  onCreate:\n    - expected: {kind: B}\n      name: a\n      initial: i\n",
            {"expectedError": "it's bad"},
            "  onCreate:\n    - expectedError: 'it''s bad'\n      name: a\n      initial: i\n",
        ),
        (
            "  onCreate:\n    - name: a\n      initial: i\n      expectedError: never\n      expected: |\n        x: 1\n",
            {"expected": FOUND},
            f"  onCreate:\n    - name: a\n      initial: i\n      expected: |\n{_shown(8)}",
        ),
        (
            "  onCreate:\n  - name: a\n    initial: i",
            {"expectedError": "a\nb"},
            '  onCreate:\n  - name: a\n    initial: i\n    expectedError: "a\\nb"\n',
        ),
        (
            "  scenarios:\n  - name: a\n    steps:\n    - storedVersions: [v1]\n    - get: {name: x}\n      expected:\n        kind: B\n",
            {"step": 1, "expected": FOUND},
            f"  scenarios:\n  - name: a\n    steps:\n    - storedVersions: [v1]\n    - get: {{name: x}}\n      expected:\n{_shown(8)}",
        ),
        (
            "  scenarios:\n  - name: a\n    steps:\n    - storedVersions:\n      - v1\n    - get: {name: x}\n",
            {"step": 0, "storedVersions": ["v1", "v2"]},
            "  scenarios:\n  - name: a\n    steps:\n    - storedVersions: [v1, v2]\n    - get: {name: x}\n",
        ),
    ],
)
def test_rewritten_text(before: str, correction: dict[str, Any], after: str, tmp_path: Path) -> None:
    """One expectation takes the place of those that a case or step has; all else stays."""
    found = _updated(tmp_path / "a.yaml", before, correction)

    assert found.after == HEAD + after
    assert (found.updated, found.left_out) == (1, [])


@pytest.mark.parametrize(
    "corrections,reason",
    [
        ([{"expectedError": "a"}, {}], "it passes with another manifest"),
        ([{"expectedError": "a"}, {"expectedError": "b"}], "its manifests lead to different results"),
        ([{"expectedError": "a"}], "its YAML has a form that is not rewritten"),
    ],
)
def test_cases_that_stay(corrections: list[dict[str, Any]], reason: str, tmp_path: Path) -> None:
    """A case is not rewritten where manifests disagree, or where its members are on one line."""
    text = "  onCreate: [{name: a, initial: i, expected: x}]\n"
    found = _updated(tmp_path / "a.yaml", text, *corrections)

    assert (found.after, found.updated, found.left_out) == (HEAD + text, 0, [f"a: {reason}"])
