"""Walks the replay's server through the releases and back."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apiext.resources.comparison.grades import named_grades
from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.storage.backend import BackendError
from apiext.tools.judgement.judge import Judge
from apiext.tools.places import Access, open_source
from apiext.tools.plan.options import PlanOptions, ignore_progress
from apiext.tools.plan.planner import make_plan
from apiext.tools.releases.conversions import with_conversions
from apiext.tools.replay.definition_walk import DefinitionWalk
from apiext.tools.replay.known_reads import KnownReads
from apiext.tools.replay.outcome import ReleaseChange, ReplayError, ReplayReport
from apiext.tools.replay.release_sequence import sequence_of
from apiext.tools.replay.server_process import STORE_FILE, running_server
from apiext.tools.replay.server_rules import ServerRules
from apiext.tools.replay.store_filling import fill_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.judgement.outcome import ObjectFinding
    from apiext.tools.plan.options import OnProgress
    from apiext.tools.plan.plan import ReleasePlan
    from apiext.tools.releases.interface import Release, WholeSource
    from apiext.tools.replay.release_sequence import ReleaseSequence
    from apiext.tools.replay.server_client import ServerClient


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How a replay is made."""

    webhook: Mapping[str, Any] | None = None
    """clientConfig of the conversion webhook, in place of that of the definitions."""
    services: ServiceAddresses | None = None
    service_texts: Sequence[str] = ()
    """The same addresses as flags."""
    takes_later: bool = True
    """Whether steps are taken that only a later release needs."""
    on_progress: OnProgress = ignore_progress


async def replay(recording: WholeSource, releases: Sequence[Release], options: ReplayOptions) -> ReplayReport:
    """Walk recorded objects through releases and back, with a server of its own in a temporary folder.

    Raises:
        ReplayError: nothing can be replayed, or the server does not run.
        SourceError: the recording cannot be read.
    """
    recorded = await with_conversions(recording, await recording.release())
    sequence = sequence_of(recorded, releases, webhook=options.webhook, calls=bool(options.services))
    names = sorted(sequence.recorded.definitions)
    if not names:
        raise ReplayError("; ".join(["nothing can be replayed", *sequence.not_proved]))
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apiext-replay-")))
        try:
            definitions = [sequence.recorded.definitions[name] for name in names]
            filled = await fill_store(folder / STORE_FILE, definitions, recording, options.on_progress)
        except BackendError as error:
            raise ReplayError(f"the store of the replay cannot be written: {error}") from error
        server = await stack.enter_async_context(running_server(folder, options.service_texts))
        reads = KnownReads(server, filled.keys)
        stack.callback(reads.close)
        report = ReplayReport(recording.origin, sum(map(len, filled.keys.values())), not_proved=[*sequence.not_proved, *filled.left_out])
        rules = ServerRules(server)
        walks = {name: DefinitionWalk(server, name, reads, filled.keys[name], options.on_progress, rules) for name in names}
        await _Walk(server, folder, sequence, options, walks, report).run()
    return report


class _Walk:
    """One walk through all releases and back."""

    def __init__(
        self,
        server: ServerClient,
        folder: Path,
        sequence: ReleaseSequence,
        options: ReplayOptions,
        walks: Mapping[str, DefinitionWalk],
        report: ReplayReport,
    ) -> None:
        self._server, self._folder, self._sequence, self._options = server, folder, sequence, options
        self._walks, self._report = walks, report

    async def run(self) -> None:
        """Walk."""
        start = self._transition("recording", "recording")
        for name, walk in self._walks.items():
            recorded = self._sequence.recorded
            await walk.begin(start, recorded.conversions.get(name), partial(self._known, recorded.definitions[name]))
        labels = self._sequence.labels
        plans, releases = [], [self._sequence.recorded, *self._sequence.releases]
        for place, release in enumerate(self._sequence.releases):
            await self._prepare(release)
            plans.append(await self._forward(release, labels[place]))
        for place in reversed(range(len(plans))):
            await self._prepare(releases[place])
            await self._back(plans[place], labels[place + 1], labels[place], releases[place])
        self._report.transitions = [one for one in self._report.transitions if one.definitions]

    def _transition(self, old: str, new: str, *, is_way_back: bool = False) -> ReleaseChange:
        found = ReleaseChange(old, new, is_way_back)
        self._report.transitions.append(found)
        return found

    async def _prepare(self, release: Release) -> None:
        for name, walk in self._walks.items():
            if name in release.definitions:
                await walk.prepare(release.definitions[name].head)

    async def _forward(self, release: Release, label: str) -> ReleasePlan:
        """Take the steps of the plan from the definitions as they are to a release. Return the plan."""
        plan = await self._plan(release)
        transition = self._transition(label, release.origin)
        for one in plan.definitions:
            wanted = release.definitions[one.name].object if one.name in release.definitions else release.drafts[one.name]
            conversion = release.conversions.get(one.name)
            await self._walks[one.name].forward(one, wanted, transition, conversion, takes_later=self._options.takes_later)
        return plan

    async def _back(self, plan: ReleasePlan, old: str, new: str, release: Release) -> None:
        """Take the rollback's steps of a plan, to a release."""
        transition = self._transition(old, new, is_way_back=True)
        for one in plan.definitions:
            if one.way_back is not None:
                await self._walks[one.name].back(one.way_back, transition, release.conversions.get(one.name))

    async def _known(self, definition: Definition) -> Sequence[ObjectFinding]:
        """Return what happens to the recorded objects without a release: what the definition itself loses or refuses."""
        async with AsyncExitStack() as stack:
            source = await open_source(str(self._folder), Access())
            stack.push_async_callback(source.close)
            rules = (await with_conversions(source, await source.release([definition.name]))).conversions.get(definition.name)
            opened = open_converters(definition, definition, services=self._options.services, rules=(rules, rules))
            converters = await stack.enter_async_context(opened)
            judge = Judge(definition, definition, converters=converters)
            async for page in await stack.enter_async_context(aclosing(source.pages(definition))):
                await judge.add(page)
            return judge.report().findings

    async def _plan(self, release: Release) -> ReleasePlan:
        """Return the plan for a release, with the stored objects as they are now."""
        options = PlanOptions(
            grades=named_grades("default"),
            services=self._options.services,
            calls_webhooks=True,
            on_progress=lambda name, done, total: self._options.on_progress(f"plan {name}", done, total),
        )
        source = await open_source(str(self._folder), Access())
        try:
            old = await with_conversions(source, await source.release(sorted(self._walks)))
            return await make_plan(old, release, objects=source, stored=source, options=options)
        finally:
            await source.close()
