"""Problems, and whether a plan foretells them."""

import pytest

from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind, ObjectFinding
from apiext.tools.replay.observations import Observations, foretold
from apiext.tools.replay.outcome import Foretold, Problem, ProblemKind


def _problem(kind: ProblemKind = ProblemKind.LOST, version: str = "v1", path: str = "spec.a", count: int = 1) -> Problem:
    return Problem(kind, version, path, "text", count=count)


def _finding(
    kind: FindingKind = FindingKind.LOST, version: str = "v1", path: str = "spec.a", count: int = 1, already: int = 0
) -> ObjectFinding:
    return ObjectFinding(kind, version, path, "text", count=count, already=already)


@pytest.mark.parametrize(
    "problem,finding,expected",
    [
        (_problem(), _finding(), Foretold.YES),
        (_problem(), _finding(already=1), Foretold.BEFORE),
        (_problem(), _finding(FindingKind.PRUNED), Foretold.NO),
        (_problem(), _finding(version="v2"), Foretold.NO),
        (_problem(), _finding(path="spec.b"), Foretold.NO),
        (_problem(), _finding(path="spec"), Foretold.YES),
        (_problem(path="spec.hosts[]"), _finding(path="spec.hosts"), Foretold.YES),
        (_problem(count=2), _finding(), Foretold.NO),
        (_problem(ProblemKind.PRUNED), _finding(version="v2"), Foretold.YES),
        (_problem(ProblemKind.REFUSED, path="spec.b"), _finding(FindingKind.STUCK), Foretold.YES),
        (_problem(ProblemKind.STEP), _finding(), Foretold.NO),
    ],
)
def test_foretold(problem: Problem, finding: ObjectFinding, expected: Foretold) -> None:
    """Match kind, version and field, for as many objects; reads match writes at any version, since objects are converted."""
    assert foretold(problem, [finding]) is expected


def test_earlier_findings() -> None:
    """Let the plan of an earlier release foretell what a version that comes back has lost."""
    assert foretold(_problem(ProblemKind.PRUNED), [], [_finding(FindingKind.PRUNED, "v2")]) is Foretold.YES
    assert foretold(_problem(), [], [_finding()]) is Foretold.NO


def test_fields_that_a_release_has_set() -> None:
    """Expect that a rollback prunes what the release has defaulted."""
    assert foretold(_problem(ProblemKind.PRUNED), [], [_finding(FindingKind.DEFAULTED)]) is Foretold.YES


def test_known_findings() -> None:
    """Know what the definition before the release did already."""
    assert foretold(_problem(), [], [], [_finding()]) is Foretold.BEFORE
    assert foretold(_problem(count=2), [], [], [_finding()]) is Foretold.NO


def test_counts_objects_once() -> None:
    """Count each object once, and name the first ones."""
    observations = Observations()
    for number in range(MAX_EXAMPLES + 2):
        for _ in range(2):
            observations.add(ProblemKind.LOST, "v1", "spec.a", "text", f"o{number}")
    observations.add(ProblemKind.STEP, "", "", "it fails")

    step, lost = observations.problems([_finding(count=99)])

    assert (step.count, lost.count, len(lost.examples)) == (0, MAX_EXAMPLES + 2, MAX_EXAMPLES)


@pytest.mark.parametrize(
    "kind,known,harm",
    [
        (ProblemKind.PRUNED, Foretold.NO, True),
        (ProblemKind.PRUNED, Foretold.YES, False),
        (ProblemKind.LOST, Foretold.YES, True),
        (ProblemKind.LOST, Foretold.BEFORE, False),
        (ProblemKind.ACCEPTED, Foretold.NO, False),
    ],
)
def test_harm(kind: ProblemKind, known: Foretold, *, harm: bool) -> None:
    """Count losses by writes as harm even if they are foretold, unless nothing is new about them."""
    problem = _problem(kind)
    problem.foretold = known

    assert problem.is_harm is harm
