"""Takes a server from one release of CRDs to another: in the steps of a plan, as an administrator does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apiext.resources.comparison.grades import named_grades
from apiext.resources.definitions.composite_definition import without_owner
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.tools.places import Access, open_source
from apiext.tools.plan.options import PlanOptions
from apiext.tools.plan.plan import Need, Safety, StepKind
from apiext.tools.plan.planner import make_plan
from apiext.tools.releases.crd_files import release_of_paths
from apiext.tools.releases.interface import SourceError
from apiext.tools.replay.server_client import RefusedError
from apiext.tools.replay.step_taker import StepTaker
from apiext.tools.testkit.definition_loading import apply_definition, wait_for_definition
from apiext.tools.testkit.kit_error import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan
    from apiext.tools.releases.interface import Release
    from apiext.tools.replay.server_client import ServerClient


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """What a release did. The keys are names of CRDs."""

    verdict: Safety
    """What `apiext plan` said of it, with the objects that were there."""
    breaks: Mapping[str, Sequence[str]]
    """Why it is breaking."""
    rollback: Safety
    """What it said of the way back."""
    steps: Mapping[str, Sequence[str]]
    """The steps that were taken, as sentences."""
    stored_versions: Mapping[str, Sequence[str]]
    """status.storedVersions after it."""
    stored_objects: Mapping[str, Mapping[str, int]]
    """How many objects are stored in each version after it, counted from the stored bytes. Versions without objects are left out."""


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A release to go to."""

    paths: Sequence[str | Path]
    migrates: bool
    """Whether steps are taken that only a later release needs: all objects are stored in the new storage version."""
    redirect: Callable[[Object], Object]
    """Changes the CRDs before they are used."""
    place: str
    """Where the plan reads objects: the data directory of the server, or its kubeconfig."""
    reads_store: bool
    """Whether that is the data directory. Without the stored bytes, the plan estimates in which versions objects are stored."""
    services: ServiceAddresses


async def take_release(server: ServerClient, request: ReleaseRequest) -> ReleaseReport:
    """Take the steps to the CRDs in files and folders. CRDs that these lack stay as they are.

    Raises:
        KitError: a path is invalid, or the server refuses the CRDs in any order of steps.
    """
    try:
        release = _redirected(await release_of_paths(request.paths), request.redirect)
        plan = await _plan(release, request)
    except SourceError as error:
        raise KitError(str(error)) from error
    steps: dict[str, list[str]] = {}
    for one in plan.definitions:
        if not one.steps and one.refusals:
            raise KitError(f"no steps lead to {one.name}: the server refuses it: {'; '.join(one.refusals)}")
        wanted = [step for step in one.steps if request.migrates or step.need is not Need.LATER]
        steps[one.name] = [step.title for step in wanted]
        await _take(server, one, wanted)
    return ReleaseReport(
        verdict=plan.verdict,
        rollback=plan.rollback_verdict,
        breaks={one.name: one.breaks for one in plan.definitions if one.breaks},
        steps=steps,
        stored_versions={name: (await server.definition(name)).head["status"]["storedVersions"] for name in steps},
        stored_objects={name: await stored_objects(server, name) for name in steps},
    )


async def stored_objects(server: ServerClient, name: str) -> dict[str, int]:
    """Return how many objects of a CRD are stored in each version. Raises KitError if the server does not say it."""
    try:
        answer = await server.ask("GET", f"/stored/versions/{name}")
    except RefusedError as error:
        raise KitError(str(error)) from error
    return {str(one["name"]): int(one["objects"]) for one in answer["versions"] if one["objects"]}


async def _plan(release: Release, request: ReleaseRequest) -> ReleasePlan:
    options = PlanOptions(grades=named_grades("default"), services=request.services or None, calls_webhooks=True)
    source = await open_source(request.place, Access())
    try:
        old = await source.release([*release.definitions, *release.refused])
        return await make_plan(old, release, objects=source, stored=source if request.reads_store else None, options=options)
    finally:
        await source.close()


def _redirected(release: Release, redirect: Callable[[Object], Object]) -> Release:
    return replace(
        release,
        definitions={name: parse_definition(redirect(without_owner(one.object))) for name, one in release.definitions.items()},
        drafts={name: redirect(without_owner(draft)) for name, draft in release.drafts.items()},
    )


async def _take(server: ServerClient, plan: DefinitionPlan, steps: Sequence[PlanStep]) -> None:
    """Take steps. Raises KitError."""
    rows = plan.versions.rows if plan.versions is not None else ()
    taker = StepTaker(server, plan.name, sum(row.objects or 0 for row in rows))
    for step in steps:
        if step.kind is StepKind.APPLY and not plan.initial_state and step.manifest is not None:
            await apply_definition(server, step.manifest)
            await wait_for_definition(server, plan.name)
            continue
        taken = await taker.take(step)
        if taken.problem:
            raise KitError(f"{plan.name}: {step.title}: {taken.problem}")
