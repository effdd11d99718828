"""The plans of an upgrade, with the objects to play it with."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.comparison.grades import Grades
from apiext.tools.plan.options import PlanOptions
from apiext.tools.plan.plan import DefinitionPlan, ReleasePlan, State
from apiext.tools.plan.planner import make_plan
from apiext.tools.plan.script import script_of
from apiext.tools.releases.crd_files import release_of_paths
from apiext.tools.releases.manifest_source import ManifestSource
from hack.lib.foretell.mutated_pairs import applied_bodies
from hack.lib.foretell.release_pair import AppliedBodies, ReleasePair
from hack.lib.upgrades.witnesses import witnesses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.resources.comparison.change import Change
    from apiext.resources.definitions.definition import Definition
    from hack.lib.upgrades.projects import Upgrade

Json = dict[str, Any]
_NOT_APPLIED: Final = ("apiVersion", "kind", "metadata", "status")
_METADATA: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class PlannedDefinition:
    """The plan for a definition, and the objects that exist before its upgrade."""

    plan: DefinitionPlan
    pair: ReleasePair
    """First the samples, which the plan was made with, then the generated objects."""
    samples: int
    script: str
    """The steps of the plan."""


@dataclass(frozen=True, slots=True)
class PlannedUpgrade:
    """The plan of an upgrade."""

    release: ReleasePlan
    definitions: tuple[PlannedDefinition, ...]
    """The changed definitions."""
    unplayed: tuple[str, ...]
    """What is not played, with the reason."""


async def plan_upgrade(upgrade: Upgrade, before: Path, after: Path, seed: int) -> PlannedUpgrade:
    """Make the plan as authors do, from the definitions and samples in the sources of both tags.

    Raises:
        SourceError: a folder cannot be read.
    """
    old, new = [await release_of_paths([folder / upgrade.definitions]) for folder in (before, after)]
    source = ManifestSource([before / upgrade.samples])
    missing = sorted({*old.definitions} - {*new.definitions} - {*new.refused})
    found, unplayed = [], [f"{name}: {upgrade.new} does not have it" for name in missing]
    try:
        plan = await make_plan(old, new, objects=source, stored=None, options=PlanOptions(grades=Grades(), judges_rollback=False))
        for one in plan.definitions:
            if one.state is State.REFUSED:
                unplayed.append(f"{one.name}: kube-apiserver refuses the new definition: {one.refusals[0]}")
            elif one.state is State.CHANGED:
                ends = old.definitions[one.name], new.definitions[one.name]
                if any(each.conversion_strategy == "Webhook" for each in ends):
                    unplayed.append(f"{one.name}: a webhook converts")
                    continue
                rng = random.Random(f"{seed}/{one.name}")  # noqa: S311 not for secrets
                pair, samples = await _pair(f"{upgrade.name} {one.name}", *ends, one.changes, source, rng)
                found.append(PlannedDefinition(one, pair, samples, script_of(replace(plan, definitions=(one,))).text))
    finally:
        await source.close()
    return PlannedUpgrade(plan, tuple(found), tuple(unplayed))


async def _pair(
    name: str, old: Definition, new: Definition, changes: Sequence[Change], source: ManifestSource, rng: random.Random
) -> tuple[ReleasePair, int]:
    """Return the definitions with their objects, and how many of these are samples."""
    served = {version.name for version in old.served_versions}
    samples = [each.object async for page in source.pages(old) for each in page]
    bodies = [_body(each) for each in samples if each["apiVersion"].rpartition("/")[2] in served]
    crd = _document(old)
    objects = (*bodies, *applied_bodies(old, crd, rng), *witnesses(old, new, changes, rng))
    return ReleasePair(name, crd, _document(new), objects), len(bodies)


def _body(sample: Json) -> AppliedBodies:
    body = {name: member for name, member in sample.items() if name not in _NOT_APPLIED}
    metadata = {name: member for name, member in sample["metadata"].items() if name in _METADATA}
    status = sample.get("status")
    return AppliedBodies((body,), sample["apiVersion"].rpartition("/")[2], status if isinstance(status, dict) else None, metadata)


def _document(definition: Definition) -> Json:
    """Return a definition as a client creates it. Labels may hold templates of a chart."""
    crd = definition.object
    metadata = {name: crd["metadata"][name] for name in ("name", "annotations") if crd["metadata"].get(name)}
    return {"apiVersion": crd["apiVersion"], "kind": crd["kind"], "metadata": metadata, "spec": crd["spec"]}
