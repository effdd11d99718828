"""The steps of CRDs that Crossplane makes of one XRD: a change of the XRD changes all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.resources.definitions.composite_definition import composite_owner, composite_patch
from apiext.tools.plan import stages
from apiext.tools.reports.texts import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep
    from apiext.tools.releases.interface import Release

    Ways = Mapping[str, tuple[PlanStep, ...]]
    """The steps by definition."""


def composite_notes(release: Release) -> list[str]:
    """Return a note about each XRD: Crossplane takes back a change of its CRDs."""
    return [f"Crossplane makes {listed(names)} of the XRD {owner}: change the XRD" for owner, names in _crds_of_xrds(release).items()]


def with_patches(plans: Sequence[DefinitionPlan], old: Release, new: Release) -> list[DefinitionPlan]:
    """Return the plans with the patches of XRDs in their steps. A patch has what the steps of all CRDs of the XRD write."""
    onward = {plan.name: plan.steps for plan in plans}
    back = {plan.name: plan.way_back.steps for plan in plans if plan.way_back is not None}
    patched = [replace(plan, steps=_patched(plan.name, onward, new)) for plan in plans]
    return [
        plan if plan.way_back is None else replace(plan, way_back=replace(plan.way_back, steps=_patched(plan.name, back, old)))
        for plan in patched
    ]


def _crds_of_xrds(release: Release) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, definition in release.definitions.items():
        if owner := composite_owner(definition.head["metadata"]):
            found.setdefault(owner, []).append(name)
    return found


def _patched(name: str, ways: Ways, end: Release) -> tuple[PlanStep, ...]:
    """Return the steps of a definition with patches. `end` is the release to which the steps lead."""
    families = _crds_of_xrds(end)
    return tuple(
        replace(step, patch=composite_patch(step.owner, [step.manifest, *_beside(step, name, families.get(step.owner, ()), ways, end)]))
        if step.owner and step.commands and step.manifest is not None
        else step
        for step in ways[name]
    )


def _beside(step: PlanStep, name: str, family: Sequence[str], ways: Ways, end: Release) -> Iterator[Object]:
    """Yield the other CRDs of the XRD, as they are after a step of one of them."""
    for other in family:
        if other != name:
            same = (one.manifest for one in ways.get(other, ()) if (one.owner, one.kind, one.state) == (step.owner, step.kind, step.state))
            last = end.definitions[other].object
            found = next(same, last if stages.state_of(last["spec"]) == step.state else None)
            if found is not None:
                yield found
