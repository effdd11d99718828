"""The result of a replay as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.tools.plan.plan import PlanStep, Safety


class ReplayError(Exception):
    """A replay cannot run. The message is one line with the reason."""


class ProblemKind(StrEnum):
    """What a check finds."""

    STEP = "step"
    """A step fails, or does not give what the plan says."""
    VANISHED = "vanished"
    """A list no longer has an object."""
    UNREADABLE = "unreadable"
    PRUNED = "pruned"
    """A read no longer gives a field after a step."""
    DEFAULTED = "defaulted"
    """A read gives a field that it did not give before a step."""
    CHANGED = "changed"
    """A read gives another value after a step."""
    REFUSED = "refused"
    """An update of a label is refused."""
    ACCEPTED = "accepted"
    """Updates pass that the plan expects to be refused."""
    LOST = "lost"
    """A label set in one version drops a field."""
    ALTERED = "altered"
    """A label set in one version changes another field."""
    GAINED = "gained"
    """A label set in one version adds a field."""
    OWNER = "owner"
    """A manager no longer owns a field."""
    APPLY = "apply"
    """A repeated server-side apply fails, conflicts, or changes the object."""


class Foretold(StrEnum):
    """Whether the plan foretells what a check finds."""

    NO = "no"
    YES = "yes"
    BEFORE = "before"
    """Yes, and the definition before the release does the same."""


_LOSSES: Final = frozenset({ProblemKind.LOST, ProblemKind.ALTERED})


@dataclass(slots=True)
class Problem:
    """The same thing that a check finds for several objects."""

    kind: ProblemKind
    version: str
    """The version of the read or write; "" for the whole definition."""
    path: str
    """The field as in the plan; "" for the whole object."""
    message: str
    count: int = 0
    """The objects; 0 if it concerns the definition."""
    examples: list[str] = field(default_factory=list)
    """The keys of the first objects."""
    foretold: Foretold = Foretold.NO

    @property
    def is_harm(self) -> bool:
        """Report whether something is lost, or happens that the plan does not foretell."""
        if self.kind is ProblemKind.ACCEPTED:
            return False
        return self.foretold is Foretold.NO or (self.foretold is Foretold.YES and self.kind in _LOSSES)


@dataclass(slots=True)
class StepReplay:
    """A step that was taken."""

    step: PlanStep
    seconds: float = 0.0
    problem: str = ""
    """Why it failed."""


@dataclass(slots=True)
class DefinitionReplay:
    """One definition in one transition."""

    name: str
    verdict: Safety
    """Of the plan."""
    objects: int
    steps: list[StepReplay] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    not_proved: list[str] = field(default_factory=list)
    """What the checks left out, and why."""


@dataclass(slots=True)
class ReleaseChange:
    """A change from one release to the next, or back."""

    old: str
    new: str
    is_way_back: bool
    definitions: list[DefinitionReplay] = field(default_factory=list)


@dataclass(slots=True)
class ReplayReport:
    """A whole replay."""

    recording: str
    objects: int
    transitions: list[ReleaseChange] = field(default_factory=list)
    not_proved: list[str] = field(default_factory=list)
    """Definitions and objects that the replay left out, and why."""

    @property
    def is_lost(self) -> bool:
        """Report whether something was lost, or happened that no plan foretold."""
        parts = [part for transition in self.transitions for part in transition.definitions]
        return any(problem.is_harm for part in parts for problem in part.problems)
