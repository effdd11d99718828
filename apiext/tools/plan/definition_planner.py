"""Makes the plan for one definition."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.resources.comparison.change import Hurts
from apiext.resources.comparison.definition_comparison import compare_definitions, compare_served_versions
from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan import stages, verdict
from apiext.tools.plan.object_judgement import Segment, WayJudge, probe_webhook, segments
from apiext.tools.plan.plan import DefinitionPlan, State, WayBack
from apiext.tools.plan.step_finder import FoundSteps, StoredFacts, find_steps
from apiext.tools.plan.version_report import report_versions
from apiext.tools.releases.interface import StoredCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.comparison.change import Change
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.options import PlanOptions
    from apiext.tools.releases.interface import ObjectSource

_NOTHING: StoredFacts = StoredFacts()


class DefinitionPlanner:
    """Makes the plan for a definition that exists, before or after the release.

    `old` has the versions in which objects may be stored in its status. `is_live`: a server gave that status.
    """

    def __init__(
        self,
        old: Definition | None,
        new: Definition,
        *,
        is_live: bool,
        objects: ObjectSource | None,
        stored: ObjectSource | None,
        options: PlanOptions,
        rules: tuple[Object | None, Object | None] = (None, None),
    ) -> None:
        """Create the planner. `rules` are the Conversions before and after the release."""
        self._rules = rules
        self._old = old
        self._new = new
        self._is_live = is_live
        self._objects = objects
        self._stored = stored
        self._options = options

    async def plan(self) -> DefinitionPlan:
        """Return the plan.

        Raises:
            SourceError: the objects cannot be read.
        """
        old, new, options = self._old, self._new, self._options
        among = compare_served_versions(new, options.grades, old, has_rules=self._rules[1] is not None)
        changes = [*compare_definitions(old, new, options.grades), *among]
        first = find_steps(old, new, _NOTHING)
        back = None
        if first.after is not None and old is not None and options.judges_rollback:
            back = find_steps(first.after, old, _NOTHING, is_rollback=True)
        report, back_report = await self._judge(first, back)
        back_report = verdict.without_defaults(back_report, report)
        if old is not None and verdict.breaks_by_objects(back_report):
            back_report = verdict.without_known(back_report, await self._judge_before(old, first))
        facts = await self._facts(report)
        found = find_steps(old, new, facts)
        breaks = [
            *found.breaks,
            *verdict.breaks_by_changes(changes, _solved_rules(new, found)),
            *verdict.breaks_by_objects(report, verdict.solved_findings(found.steps)),
        ]
        way_back = self._way_back(first, back, back_report) if back is not None else None
        return DefinitionPlan(
            name=new.name,
            state=State.ADDED if old is None else State.CHANGED,
            verdict=verdict.verdict_of(breaks, found.steps),
            breaks=tuple(breaks),
            cautions=(*found.cautions, *verdict.cautions_by_objects(report)),
            refusals=found.refusals,
            changes=tuple(changes),
            objects=report,
            versions=report_versions(old.head if old else None, new.head, found, facts, is_live=self._is_live),
            steps=found.steps,
            way_back=way_back,
            initial_state=stages.state_of(old.head["spec"]) if old is not None else "",
            compared=(old, new),
        )

    def _way_back(self, first: FoundSteps, back: FoundSteps, report: ObjectsReport | None) -> WayBack:
        changes: Sequence[Change] = compare_definitions(first.after, self._old, self._options.grades)
        breaks = [*back.breaks, *verdict.breaks_by_objects(report)]
        loses = [verdict.text_of_change(change) for change in changes if change.hurts is not Hurts.NOBODY]
        cautions = (*back.cautions, *verdict.cautions_by_objects(report))
        return WayBack(
            verdict=verdict.verdict_of(breaks, back.steps),
            breaks=tuple(breaks),
            loses=tuple(loses),
            cautions=cautions,
            steps=back.steps,
            objects=report,
            initial_state=stages.state_of(first.after.head["spec"]) if first.after is not None else "",
        )

    async def _judge(self, first: FoundSteps, back: FoundSteps | None) -> tuple[ObjectsReport | None, ObjectsReport | None]:
        """Judge all objects on both ways."""
        if self._objects is None or first.after is None:
            return None, None
        home = self._old or self._new
        async with AsyncExitStack() as stack:
            forward = await self._way(stack, segments(self._old, self._new, first), first, self._rules)
            backward = None
            if back is not None and self._old is not None and back.after is not None:
                backward = await self._way(stack, segments(first.after, self._old, back), back, self._rules[::-1])
            judged, total = 0, await self._objects.count(home)
            pages = await stack.enter_async_context(aclosing(self._objects.pages(home)))
            async for page in pages:
                after = await forward.add(page, continues=backward is not None)
                if backward is not None:
                    await backward.add(after, continues=False)
                judged += len(page)
                self._options.on_progress(home.name, judged, total)
            return forward.report(), backward.report() if backward is not None else None

    async def _judge_before(self, old: Definition, first: FoundSteps) -> ObjectsReport | None:
        """Judge all objects under the old definition, as it is: a rollback does no harm that is there before the release."""
        if self._objects is None:
            return None
        async with AsyncExitStack() as stack:
            rules = self._rules[0], self._rules[0]
            judge = await self._way(stack, [Segment(old, old)], replace(first, relabelled=((), "")), rules)
            async for page in await stack.enter_async_context(aclosing(self._objects.pages(old))):
                await judge.add(page, continues=False)
            return judge.report()

    async def _way(
        self, stack: AsyncExitStack, parts: Sequence[Segment], found: FoundSteps, rules: tuple[Object | None, Object | None]
    ) -> WayJudge:
        """Return the judge of a way. The rules before it apply to the beginning of its first part."""
        options, way = self._options, []
        for number, part in enumerate(parts):
            converters = await stack.enter_async_context(
                open_converters(
                    part.old,
                    part.new,
                    webhook=options.webhook,
                    old_webhook=options.webhook,
                    services=options.services,
                    calls=options.calls_webhooks,
                    rules=(rules[0 if number == 0 else 1], rules[1]),
                )
            )
            if part.old is not None:
                await probe_webhook(converters.old, part.old)
            await probe_webhook(converters.new, part.new)
            way.append((part, converters))
        return WayJudge(way, found.relabelled)

    async def _facts(self, report: ObjectsReport | None) -> StoredFacts:
        """Return what is known of the stored bytes."""
        findings = report.findings if report is not None else ()
        stale = tuple(dict.fromkeys(one.version for one in findings if one.kind is FindingKind.MANAGER and verdict.is_new(one)))
        if self._stored is None:
            counts = dict(report.stored) if report is not None else {}
            return StoredFacts(counts, unreadable=report.unreadable if report is not None else 0, stale_managers=stale)
        facts = await count_stored(self._stored, self._old or self._new)
        return replace(facts, stale_managers=stale)


def _solved_rules(new: Definition, found: FoundSteps) -> list[str]:
    """Return the rules of changes that do no harm after the steps."""
    if found.after is None:
        return []
    # with one version, nothing is converted
    return ["storedVersionRemoved", *(["conversionWebhookRemoved"] if len(new.versions) == 1 else [])]


async def count_stored(source: ObjectSource, definition: Definition) -> StoredFacts:
    """Return the exact numbers of objects by the version of their bytes.

    Raises:
        SourceError: the objects cannot be read.
    """
    if isinstance(source, StoredCounter):
        found, unreadable = await source.stored_counts(definition)
        return StoredFacts(found, is_exact=True, unreadable=unreadable)
    counts: dict[str, int] = {}
    unreadable = 0
    async with aclosing(source.pages(definition)) as pages:
        async for page in pages:
            for one in page:
                group, _, version = str(one.object.get("apiVersion", "")).rpartition("/")
                if one.problem or group != definition.group:
                    unreadable += 1
                else:
                    counts[version] = counts.get(version, 0) + 1
    return StoredFacts(counts, is_exact=True, unreadable=unreadable)
