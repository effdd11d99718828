"""Results of openshift/api's own runner, from its JSON report."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from apiext.tools.suites.model import CaseOutcome, FinishedCase

_SUITE: Final = re.compile(
    r"^\[(?P<group>[^/\]]*)/(?P<version>[^,\]]*), Resource=(?P<resource>[^\]]*)\].*?"
    r"\[FeatureGate=(?P<gates>[^\]]*)\]\[File=(?P<file>[^\]]*)\] (?P<name>.*)$",
    re.DOTALL,
)
_KINDS: Final = {"On Create": "onCreate", "On Update": "onUpdate"}
_STATES: Final = {"passed": "passed", "failed": "failed", "timedout": "failed", "panicked": "failed"}


class Key(NamedTuple):
    """What both runners know of a case. Several cases may have the same."""

    crd: str
    manifest: str
    gates: str
    suite: str
    kind: str
    case: str


class Results(NamedTuple):
    """The results of a run: the numbers of outcomes of each key, and the messages of failures."""

    outcomes: Mapping[Key, Counter[str]]
    messages: Mapping[Key, list[str]]

    def count(self, outcome: str) -> int:
        """Return the number of cases with an outcome."""
        return sum(counts[outcome] for counts in self.outcomes.values())


def read_report(path: Path) -> Results:
    """Return the results in a report of `-ginkgo.json-report`."""
    return _results(_spec(spec) for suite in json.loads(path.read_bytes()) for spec in suite["SpecReports"] if spec["LeafNodeType"] == "It")


def results_of(finished: Iterable[FinishedCase]) -> Results:
    """Return the results of a run of `apiext test`. A case that could not be run has failed, as with the other runner."""
    return _results(_case(each) for each in finished)


def _results(found: Iterable[tuple[Key, str, str]]) -> Results:
    results = Results({}, {})
    for key, outcome, message in found:
        results.outcomes.setdefault(key, Counter())[outcome] += 1  # type: ignore[attr-defined]
        if message:
            results.messages.setdefault(key, []).append(message)  # type: ignore[attr-defined]
    return results


def _spec(spec: Mapping[str, Any]) -> tuple[Key, str, str]:
    suite, kind = (text for text in spec["ContainerHierarchyTexts"] if text)
    parts = _SUITE.match(suite)
    if parts is None:
        raise ValueError(f"unexpected name of a suite: {suite}")
    key = Key(f"{parts['resource']}.{parts['group']}", parts["file"], parts["gates"], parts["name"], _KINDS[kind], spec["LeafNodeText"])
    return key, _STATES.get(spec["State"], "not run"), (spec.get("Failure") or {}).get("Message", "")


def _case(each: FinishedCase) -> tuple[Key, str, str]:
    suite = each.variant.suite
    gates = ",".join(suite.feature_gates)
    key = Key(suite.crd_name, each.variant.manifest.name, gates, suite.name, str(each.case.kind), each.case.name)
    return key, "passed" if each.result.outcome is CaseOutcome.PASSED else "failed", each.result.message
