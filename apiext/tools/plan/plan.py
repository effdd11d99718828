"""The plan of a release as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.comparison.change import Change
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.judgement.outcome import ObjectsReport


class Safety(StrEnum):
    """The verdict on a change, from good to bad."""

    SAFE = "safe"
    STEPS = "steps"
    BREAKING = "breaking"

    @property
    def exit_code(self) -> int:
        """Return 0 for safe, 1 for safe in the order of the steps, 2 for breaking."""
        return _ORDER.index(self)


_ORDER: Final = tuple(Safety)


def worst(verdicts: Sequence[Safety]) -> Safety:
    """Return the worst verdict, SAFE if there is none."""
    return max(verdicts, key=_ORDER.index, default=Safety.SAFE)


class StepKind(StrEnum):
    """What a step does."""

    REPAIR = "repair"
    WEBHOOK = "deploy-webhook"
    ADD = "add-version"
    STORAGE = "move-storage"
    MIGRATE = "migrate"
    PRUNE = "prune-stored-versions"
    DEPRECATE = "deprecate"
    REAPPLY = "apply-again"
    STOP = "stop-serving"
    APPLY = "apply"
    DELETE = "delete"


class Need(StrEnum):
    """Whether a step may be left out."""

    REQUIRED = "required"
    ADVISED = "advised"
    LATER = "later"
    """Only a later release needs it: after it, old versions can be dropped."""


class State(StrEnum):
    """The fate of a definition in a release."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    REFUSED = "refused"
    """The new definition is invalid."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan."""

    kind: StepKind
    need: Need
    title: str
    """What to do, as a sentence without a full stop."""
    reason: str
    commands: tuple[str, ...]
    """Shell commands. FILE stands for the manifest."""
    check: str
    """Shell command that succeeds when the step is done; "" if the command of the step itself tells."""
    check_text: str
    """The same in words."""
    state: str
    """The versions and the conversion strategy of the definition after the step, as `check` prints them."""
    stored_versions: tuple[str, ...]
    """status.storedVersions after the step."""
    manifest: Object | None = None
    """The object to apply: an intermediate or the new definition, or a StorageVersionMigration."""
    resource: str = ""
    """Arguments of kubectl that name all objects, of steps that rewrite objects."""
    api_version: str = ""
    """The apiVersion that the step removes from managedFields."""
    owner: str = ""
    """The XRD of which Crossplane makes the definition, of steps that change the definition."""
    patch: Object | None = None
    """The merge patch of that XRD; None if a person applies the XRD of the release."""

    @property
    def written(self) -> Object | None:
        """Return what the commands write."""
        return self.patch if self.owner else self.manifest


@dataclass(frozen=True, slots=True)
class VersionRole:
    """The properties of a version in one definition."""

    served: bool
    storage: bool
    deprecated: bool


@dataclass(frozen=True, slots=True)
class VersionState:
    """A version before and after the release."""

    name: str
    before: VersionRole | None
    after: VersionRole | None
    objects: int | None
    """Number of objects stored in it, as far as known."""
    is_listed: bool
    """Whether status.storedVersions has it before the release."""
    droppable: str
    """When it can be dropped, in words."""


@dataclass(frozen=True, slots=True)
class VersionsReport:
    """What is stored in which version."""

    rows: tuple[VersionState, ...]
    is_exact: bool
    """Whether the numbers come from the stored bytes."""
    evidence: str
    """Where the numbers come from, in words."""
    stored_before: tuple[str, ...]
    """status.storedVersions before the release, ..."""
    stored_after: tuple[str, ...]
    """... after the required steps, ..."""
    stored_finally: tuple[str, ...]
    """... and after all steps."""


@dataclass(frozen=True, slots=True)
class WayBack:
    """The rollback of a release: the old definition replaces the new one, with the objects as they are after the release."""

    verdict: Safety
    breaks: tuple[str, ...]
    """Why it harms something that exists now."""
    loses: tuple[str, ...]
    """What clients write after the release, and a rollback loses or refuses."""
    cautions: tuple[str, ...]
    steps: tuple[PlanStep, ...]
    objects: ObjectsReport | None
    initial_state: str
    """As PlanStep.state, after the release."""


@dataclass(frozen=True, slots=True)
class DefinitionPlan:
    """The plan for one definition."""

    name: str
    state: State
    verdict: Safety
    breaks: tuple[str, ...]
    """Why it is breaking."""
    cautions: tuple[str, ...]
    """What a person should know, and no check can tell."""
    refusals: tuple[str, ...]
    """The errors with which kube-apiserver refuses the new definition without the steps before it."""
    changes: tuple[Change, ...]
    objects: ObjectsReport | None
    """None if no objects were judged."""
    versions: VersionsReport | None
    steps: tuple[PlanStep, ...]
    way_back: WayBack | None
    """None without an earlier definition, or if nothing changes."""
    initial_state: str = ""
    """As PlanStep.state, before the first step; "" if there is no definition."""
    compared: tuple[Definition | None, Definition | None] = (None, None)
    """The old and the new definition, if they were compared."""


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """The plan for all definitions of a release."""

    old: str
    """The origin of the old definitions in words, ..."""
    new: str
    objects: str
    """..., that of the objects, "" if none were judged, ..."""
    stored: str
    """..., and that of the stored bytes, "" if they were not read."""
    definitions: tuple[DefinitionPlan, ...]
    """In the order of their names."""
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Safety:
        """Return the worst verdict of all definitions."""
        return worst([one.verdict for one in self.definitions])

    @property
    def rollback_verdict(self) -> Safety:
        """Return the worst verdict of all rollbacks."""
        return worst([one.way_back.verdict for one in self.definitions if one.way_back is not None])
