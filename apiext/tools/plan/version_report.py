"""What is stored in which version, and when a version can be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.tools.plan.plan import Need, StepKind, VersionRole, VersionsReport, VersionState

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.plan.step_finder import FoundSteps, StoredFacts


def report_versions(old: Object | None, new: Object, found: FoundSteps, facts: StoredFacts, *, is_live: bool) -> VersionsReport:
    """Return the report about the versions of both definitions. `is_live`: a server gave the old status.storedVersions."""
    before, after = _roles(old), _roles(new)
    stored = tuple(old["status"]["storedVersions"] or ()) if old is not None else ()
    after_release = [step for step in found.steps if step.need is not Need.LATER]
    rows = []
    for name in dict.fromkeys([*after, *before, *sorted(facts.counts)]):
        known = facts.is_exact or facts.counts
        rows.append(
            VersionState(
                name=name,
                before=before.get(name),
                after=after.get(name),
                objects=facts.counts.get(name, 0) if known else None,
                is_listed=name in stored,
                droppable=_droppable(name, after, found),
            )
        )
    return VersionsReport(
        rows=tuple(rows),
        is_exact=facts.is_exact,
        evidence=_evidence(facts, is_live=is_live),
        stored_before=stored,
        stored_after=after_release[-1].stored_versions if after_release else stored,
        stored_finally=found.stored_finally,
    )


def _roles(crd: Object | None) -> dict[str, VersionRole]:
    versions = crd["spec"]["versions"] if crd is not None else ()
    return {one["name"]: VersionRole(one["served"], one["storage"], bool(one.get("deprecated"))) for one in versions}


def _evidence(facts: StoredFacts, *, is_live: bool) -> str:
    if facts.is_exact:
        return "counted from the stored bytes"
    found = "status.storedVersions" if is_live else "the versions of the old definition, since its status.storedVersions is not known"
    named = " and the apiVersion that a server or file gives each object" if facts.counts else ""
    return f"estimated from {found}{named}"


def _droppable(name: str, after: dict[str, VersionRole], found: FoundSteps) -> str:
    role = after.get(name)
    if role is None:
        return "this release drops it"
    if role.storage:
        return "no: it is the storage version"
    conditions = []
    if role.served:
        conditions.append("it is no longer served")
    if name in found.stored_finally:
        conditions.append("the objects are stored in another version")
    else:
        number = next((place for place, step in enumerate(found.steps, 1) if _removes(step.kind) and name not in step.stored_versions), 0)
        was_listed = any(name in step.stored_versions for step in found.steps[: max(number - 1, 0)])
        if number and was_listed:
            conditions.append(f"step {number}")
    return f"after {' and '.join(conditions)}" if conditions else "yes"


def _removes(kind: StepKind) -> bool:
    return kind is StepKind.PRUNE
