"""Collects what checks find, and compares it with what the plan foretells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind
from apiext.tools.replay.outcome import Foretold, Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.tools.judgement.outcome import ObjectFinding

_SIGNS: Final = {
    ProblemKind.UNREADABLE: {FindingKind.UNREADABLE, FindingKind.UNCONVERTIBLE},
    # a migration is a write, and a version that comes back is compared with its last read
    ProblemKind.PRUNED: {FindingKind.PRUNED, FindingKind.LOST},
    ProblemKind.DEFAULTED: {FindingKind.DEFAULTED, FindingKind.GAINED},
    ProblemKind.CHANGED: {FindingKind.CHANGED, FindingKind.ALTERED},
    ProblemKind.REFUSED: {FindingKind.STUCK, FindingKind.UNREADABLE, FindingKind.UNCONVERTIBLE},
    ProblemKind.LOST: {FindingKind.LOST},
    ProblemKind.ALTERED: {FindingKind.ALTERED},
    ProblemKind.GAINED: {FindingKind.GAINED},
    ProblemKind.OWNER: {FindingKind.PRUNED, FindingKind.LOST, FindingKind.CHANGED, FindingKind.MANAGER},
    ProblemKind.APPLY: {FindingKind.CONFLICT, FindingKind.UNAPPLIED, FindingKind.APPLIER, FindingKind.MANAGER},
}
"""The findings that foretell a problem."""
_UNDONE: Final = {FindingKind.DEFAULTED, FindingKind.GAINED}
"""Findings of a release, whose fields its rollback prunes."""
_OF_FIELDS: Final = frozenset(
    {ProblemKind.PRUNED, ProblemKind.DEFAULTED, ProblemKind.CHANGED, ProblemKind.LOST, ProblemKind.ALTERED, ProblemKind.GAINED}
)
_OF_ANY_VERSION: Final = frozenset({ProblemKind.PRUNED, ProblemKind.DEFAULTED, ProblemKind.CHANGED, ProblemKind.OWNER})
"""Problems that a plan may foretell in the name of another version, which the objects were converted from."""


class Observations:
    """The problems of one definition in one transition. Each object counts once in each of them."""

    def __init__(self) -> None:
        self._found: dict[tuple[ProblemKind, str, str, str], Problem] = {}
        self._last: dict[tuple[ProblemKind, str, str, str], str] = {}

    def add(self, kind: ProblemKind, version: str, path: str, message: str, key: str = "") -> None:
        """Add what happened to an object, or without a key to the definition. Equal problems of one object come one after the other."""
        group = kind, version, path, message
        problem = self._found.setdefault(group, Problem(*group))
        if not key or self._last.get(group) == key:
            return
        self._last[group] = key
        problem.count += 1
        if len(problem.examples) < MAX_EXAMPLES:
            problem.examples.append(key)

    def problems(
        self, findings: Sequence[ObjectFinding], earlier: Sequence[ObjectFinding] = (), known: Sequence[ObjectFinding] = ()
    ) -> list[Problem]:
        """Return all problems.

        `findings` are those of the plan, `earlier` those of the transitions before. `known` are those of the definition as it was before
        the release, which a rollback's plan does not repeat.
        """
        order = list(ProblemKind)
        for problem in self._found.values():
            problem.foretold = foretold(problem, findings, earlier, known)
        return sorted(self._found.values(), key=lambda one: (order.index(one.kind), one.version, one.path, one.message))


def foretold(
    problem: Problem, findings: Sequence[ObjectFinding], earlier: Sequence[ObjectFinding] = (), known: Sequence[ObjectFinding] = ()
) -> Foretold:
    """Return whether findings foretell a problem, for as many objects; the arguments are those of Observations.problems."""
    found = [finding for finding in findings if _is_sign(finding, problem)]
    if not found and problem.kind in _OF_ANY_VERSION:
        found = [finding for finding in [*findings, *earlier] if _is_sign(finding, problem, any_version=True)]
    if not found and problem.kind is ProblemKind.PRUNED:
        found = [finding for finding in earlier if finding.kind in _UNDONE and _covers(finding.path, problem.path)]
    if found and problem.count <= _limit(found, problem.kind):
        return Foretold.BEFORE if all(finding.count <= finding.already for finding in found) else Foretold.YES
    before = [finding for finding in known if _is_sign(finding, problem)]
    return Foretold.BEFORE if before and problem.count <= _limit(before, problem.kind) else Foretold.NO


def _is_sign(finding: ObjectFinding, problem: Problem, *, any_version: bool = False) -> bool:
    if finding.kind not in _SIGNS.get(problem.kind, ()):
        return False
    if not any_version and finding.version not in (problem.version, ""):
        return False
    return problem.kind not in _OF_FIELDS or _covers(finding.path, problem.path)


def _covers(path: str, other: str) -> bool:
    """Report whether one of two fields is the other one or contains it."""
    return path == other or path.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{path}.", f"{path}["))


def _limit(found: Iterable[ObjectFinding], kind: ProblemKind) -> int:
    counts = [finding.count for finding in found]
    return max(counts) if kind in _OF_FIELDS else sum(counts)
