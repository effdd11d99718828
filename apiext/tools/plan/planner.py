"""Makes the plan of a release."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.gvk import GroupKind
from apiext.resources.comparison.definition_comparison import compare_definitions
from apiext.resources.definitions.composite_definition import refused_changes
from apiext.resources.evaluation.definition_creation import (
    DefinitionRefusedError,
    have_same_spec,
    names_problem,
    parse_definition,
    settle_names,
    update_definition,
)
from apiext.tools.plan import stages, verdict
from apiext.tools.plan.composites import composite_notes, with_patches
from apiext.tools.plan.definition_planner import DefinitionPlanner
from apiext.tools.plan.plan import DefinitionPlan, Need, PlanStep, ReleasePlan, Safety, State, StepKind
from apiext.tools.plan.step_chain import kubectl_target
from apiext.tools.plan.step_finder import StoredFacts, find_steps
from apiext.tools.plan.version_report import report_versions
from apiext.tools.releases.manifest_source import ManifestSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.plan.options import PlanOptions
    from apiext.tools.releases.interface import ObjectSource, Release

_OF_TOOLS: Final = frozenset({"apiextensions.k8s.io", "apiextensions.crossplane.io", "conversions.apiext.dev", "kustomize.config.k8s.io"})
"""Groups of manifests that are no objects to judge: definitions, their conversions, and what kustomize reads."""


def name_conflicts(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> dict[str, str]:
    """Return what the server does not accept of the names of new definitions, and what follows, by definition.

    The definitions of `old` that `new` lacks stay. Conflicts that are there before are left out.
    """
    settled = dict(old) | {name: _wanted(old.get(name), definition) for name, definition in new.items()}
    # a name that one definition gives up is free for another one; each pass settles one of them at least
    for _ in range(len(new) + 1):
        before = {name: settled[name].head["status"] for name in new}
        for name in sorted(new):
            settled[name] = settle_names(settled[name], settled.values())
        if before == {name: settled[name].head["status"] for name in new}:
            break
    found: dict[str, str] = {}
    for name in new:
        problem = names_problem(settled[name])
        if problem and (name not in old or problem != names_problem(old[name])):
            effect = "the former names stay" if settled[name].is_established else "the definition is not served"
            found[name] = f"kube-apiserver does not accept the names, and {effect}: {problem}"
    return found


def _wanted(old: Definition | None, new: Definition) -> Definition:
    """Return a new definition before its names are accepted."""
    status = new.head["status"]
    if old is not None:
        kept = {name: old.head["status"][name] for name in ("acceptedNames", "conditions")}
    else:
        kept = {"acceptedNames": {"plural": "", "kind": ""}, "conditions": []}
    return parse_definition(new.object | {"status": status | kept})


async def make_plan(
    old: Release, new: Release, *, objects: ObjectSource | None, stored: ObjectSource | None, options: PlanOptions
) -> ReleasePlan:
    """Return the plan for the definitions of a new release that replace those of an old one.

    `objects` are judged; `stored` has the stored bytes, from which versions are counted.

    Raises:
        SourceError: the objects cannot be read.
    """
    planner = _Planner(old, new, objects, stored, options)
    names = set(new.definitions) | set(new.refused)
    missing = sorted({*old.definitions} - names)
    plans = [await planner.plan(name) for name in sorted(names | set(missing if options.removes else ()))]
    conflicts = planner.name_conflicts()
    plans = [_with_conflict(one, conflicts[one.name]) if one.name in conflicts else one for one in plans]
    notes = [*old.remarks, *new.remarks, *_remarks(objects, old, new), *composite_notes(new)]
    notes += [_remaining(one) for one in plans if one.state is State.UNCHANGED and one.steps]
    notes += [
        f"{name}: the old definition is left out, since kube-apiserver refuses it: {old.refused[name][0]}" for name in sorted(old.refused)
    ]
    if missing and not options.removes:
        notes.append(f"not judged, since {new.origin} does not have them: {_some(missing)} (--prune judges their deletion)")
    if objects is None:
        notes.append("no objects were judged: --objects names some")
    return ReleasePlan(
        old=old.origin,
        new=new.origin,
        objects=objects.origin if objects is not None else "",
        stored=stored.origin if stored is not None else "",
        definitions=tuple(with_patches(plans, old, new)),
        notes=tuple(notes),
    )


class _Planner:
    """Plans each definition."""

    def __init__(self, old: Release, new: Release, objects: ObjectSource | None, stored: ObjectSource | None, options: PlanOptions) -> None:
        self._old, self._new, self._objects, self._stored, self._options = old, new, objects, stored, options

    async def plan(self, name: str) -> DefinitionPlan:
        """Return the plan for the definition with a name."""
        old = self._old.definitions.get(name)
        if old is not None and not self._old.is_live:
            old = _stored_in_any_version(old)
        new = self._new.definitions.get(name)
        if new is None and name in self._new.refused:
            accepted = _accepted_update(old, self._new, name)
            if accepted is None:
                return _refused(name, tuple(self._new.refused[name]))
            new = accepted
        if new is None:
            return await self._removed(name)
        rules = self._old.conversions.get(name), self._new.conversions.get(name)
        is_live, objects, stored, options = self._old.is_live, self._objects, self._stored, self._options
        if old is None or _spec(rules[0]) != _spec(rules[1]) or not _are_same(old.object, new.object):
            return await DefinitionPlanner(old, new, is_live=is_live, objects=objects, stored=stored, options=options, rules=rules).plan()
        found = self._unchanged(old, new)
        if objects is None or not found.steps:
            return found
        # its steps rewrite objects
        options = replace(options, judges_rollback=False)
        planner = DefinitionPlanner(old, new, is_live=is_live, objects=objects, stored=stored, options=options, rules=rules)
        return replace(await planner.plan(), state=State.UNCHANGED)

    def name_conflicts(self) -> dict[str, str]:
        """Return what the server does not accept of the names of new definitions."""
        old, new = self._old.definitions, dict(self._new.definitions)
        for name in self._new.refused:
            accepted = _accepted_update(old.get(name), self._new, name)
            if accepted is not None:
                new[name] = accepted
        return name_conflicts({name: one for name, one in old.items() if name in new or not self._options.removes}, new)

    def _unchanged(self, old: Definition, new: Definition) -> DefinitionPlan:
        found = find_steps(old, new, StoredFacts())
        is_live = self._old.is_live
        return DefinitionPlan(
            name=old.name,
            state=State.UNCHANGED,
            verdict=Safety.SAFE,
            breaks=(),
            cautions=(),
            refusals=(),
            changes=(),
            objects=None,
            versions=report_versions(old.head, new.head, found, StoredFacts(), is_live=is_live),
            steps=found.steps if is_live else (),
            way_back=None,
            initial_state=stages.state_of(old.head["spec"]),
        )

    async def _removed(self, name: str) -> DefinitionPlan:
        old = self._old.definitions[name]
        changes = tuple(compare_definitions(old, None, self._options.grades))
        breaks = verdict.breaks_by_changes(changes)
        number = await _count(self._objects, old) if self._objects is not None else 0
        if number:
            breaks.append(f"{number} object{'' if number == 1 else 's'} would be deleted with the definition")
        step = PlanStep(
            kind=StepKind.DELETE,
            need=Need.REQUIRED,
            title=f"Delete {name}, and all its objects with it",
            reason="the new release does not have it",
            commands=(f"kubectl delete {kubectl_target(old.head)}",),
            check=f'test -z "$(kubectl get crd {name} --ignore-not-found -o name)"',
            check_text=f"{name} does not exist",
            state="",
            stored_versions=(),
        )
        return DefinitionPlan(
            name=name,
            state=State.REMOVED,
            verdict=verdict.verdict_of(breaks, (step,)),
            breaks=tuple(breaks),
            cautions=(),
            refusals=(),
            changes=changes,
            objects=None,
            versions=None,
            steps=(step,),
            way_back=None,
            compared=(old, None),
        )


def _with_conflict(plan: DefinitionPlan, conflict: str) -> DefinitionPlan:
    return replace(plan, verdict=Safety.BREAKING, breaks=(conflict, *plan.breaks))


def _are_same(old: Object, new: Object) -> bool:
    """Report whether a definition stays as it is."""
    return have_same_spec(old["spec"], new["spec"]) and not refused_changes(old, new)


def _spec(conversion: Object | None) -> Any:
    return None if conversion is None else conversion.get("spec")


def _refused(name: str, reasons: tuple[str, ...]) -> DefinitionPlan:
    return DefinitionPlan(
        name=name,
        state=State.REFUSED,
        verdict=Safety.BREAKING,
        breaks=tuple(f"kube-apiserver refuses the definition: {reason}" for reason in reasons),
        cautions=(),
        refusals=reasons,
        changes=(),
        objects=None,
        versions=None,
        steps=(),
        way_back=None,
    )


def _accepted_update(old: Definition | None, release: Release, name: str) -> Definition | None:
    """Return a refused definition as an update of the old one, if that is accepted (ratcheting)."""
    draft = release.drafts.get(name)
    if old is None or draft is None:
        return None
    try:
        return update_definition(old, draft)
    except DefinitionRefusedError:
        return None


def _stored_in_any_version(definition: Definition) -> Definition:
    """Return a definition of which no server told status.storedVersions: objects may be stored in any of its versions."""
    crd = definition.object
    return parse_definition(crd | {"status": crd["status"] | {"storedVersions": stages.names_of(crd["spec"])}})


async def _count(source: ObjectSource, definition: Definition) -> int:
    number = await source.count(definition)
    if number is not None:
        return number
    number = 0
    async with aclosing(source.pages(definition)) as pages:
        async for page in pages:
            number += len(page)
    return number


def _remarks(objects: ObjectSource | None, *releases: Release) -> list[str]:
    """Return what was left out of the objects of files, once they are read."""
    if not isinstance(objects, ManifestSource):
        return []
    definitions = [one.object for release in releases for one in release.definitions.values()]
    specs = [crd["spec"] for crd in (*definitions, *(draft for release in releases for draft in release.drafts.values()))]
    known = {GroupKind(spec["group"], spec["names"]["kind"]) for spec in specs}
    others = [f"{number} {kind}" for kind, number in objects.kinds().items() if kind not in known and kind.group not in _OF_TOOLS]
    return [
        *objects.remarks,
        *([f"not judged, since neither release has a definition of their kind: {', '.join(others)}"] if others else []),
    ]


def _remaining(plan: DefinitionPlan) -> str:
    """Return what an unchanged definition has in status.storedVersions until all objects are stored in one version."""
    left = [name for name in plan.versions.stored_before if name not in plan.versions.stored_finally] if plan.versions else []
    what = f"{left[0]} remains" if len(left) == 1 else f"{', '.join(left)} remain"
    return f"{plan.name}: {what} in status.storedVersions; --steps prints how a later release can drop {'it' if len(left) == 1 else 'them'}"


def _some(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} others" if len(names) > most else "")
