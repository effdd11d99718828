"""Judges the objects of a definition along its steps: relabelled, migrated, then under the new definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from apiext.base.texts import counted
from apiext.resources.evaluation.compiled_definition import is_unconvertible
from apiext.tools.judgement.findings import Group
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind, NotJudged, ObjectsReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.evaluation.compiled_definition import Converters, DefinitionConverter
    from apiext.tools.judgement.outcome import ObjectFinding
    from apiext.tools.plan.step_finder import FoundSteps
    from apiext.tools.releases.interface import SourceObject

_PROBES: Final = 3
"""Calls without an answer that open a circuit."""
_OF_THE_END: Final = frozenset({FindingKind.MANAGER, FindingKind.APPLIER, FindingKind.UNAPPLIED, FindingKind.CONFLICT})


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the way: one definition replaces another."""

    old: Definition | None
    new: Definition


def segments(old: Definition | None, new: Definition, found: FoundSteps) -> list[Segment]:
    """Return the parts of the way: over the definition in which objects are migrated, if there is one."""
    if found.bridge is None:
        return [Segment(old, new)]
    return [Segment(old, found.bridge), Segment(found.bridge, new)]


class WayJudge:
    """Judges objects page by page on their way from the old definition to the new one.

    An object that a server or file gives in a version that only the new definition serves does not exist yet: it is judged as a create.
    """

    def __init__(self, way: Sequence[tuple[Segment, Converters]], relabelled: tuple[tuple[str, ...], str] = ((), "")) -> None:
        self._judges = [Judge(segment.old, segment.new, converters=converters) for segment, converters in way]
        self._relabelled = relabelled
        self._stored: dict[str, int] = {}
        self._first, self._last = way[0][0].old, way[-1][0].new
        self._creations = Judge(None, self._last, converters=way[-1][1])
        self._strange: dict[str, int] = {}
        """Objects by the version that neither definition has."""

    async def add(self, page: Sequence[SourceObject], *, continues: bool) -> Sequence[SourceObject]:
        """Judge a page of objects. With `continues`, return those that exist as they are stored at the end."""
        page = await self._existing(page)
        if not page:
            return page
        for one in page:
            version = str(one.object.get("apiVersion", "")).rpartition("/")[2]
            self._stored[version] = self._stored.get(version, 0) + 1
        found = [self._relabel(one) for one in page]
        for place, judge in enumerate(self._judges):
            await judge.add(found)
            if continues or place < len(self._judges) - 1:
                found = await judge.rewritten(found)
        return found

    async def _existing(self, page: Sequence[SourceObject]) -> Sequence[SourceObject]:
        """Return the objects that exist, and judge the others."""
        if self._first is None:
            return page
        existing, created = [], []
        for one in page:
            group, _, name = str(one.object.get("apiVersion", "")).rpartition("/")
            version = self._last.version(name)
            if one.is_stored or group != self._last.group or self._first.version(name) is not None:
                existing.append(one)
            elif version is not None and version.served:
                created.append(one)
            else:
                self._strange[name] = self._strange.get(name, 0) + 1
        if created:
            await self._creations.add(created)
        return existing

    def report(self) -> ObjectsReport:
        """Return the judgement of all objects so far."""
        first, *rest = [judge.report() for judge in self._judges]
        for other in rest:
            first = _joined(first, other)
        found = replace(first, stored=dict(sorted(self._stored.items())))
        strange = [
            NotJudged(f"{counted(number, 'object')} in {name}", "no definition serves the version")
            for name, number in sorted(self._strange.items())
        ]
        return _with_created(found, self._creations.report(), strange)

    def _relabel(self, one: SourceObject) -> SourceObject:
        versions, keeper = self._relabelled
        labels = {f"{self._last.group}/{version}" for version in versions}
        if one.object.get("apiVersion") not in labels:
            return one
        return replace(one, object=one.object | {"apiVersion": f"{self._last.group}/{keeper}"})


async def probe_webhook(judged: DefinitionConverter, definition: Definition) -> None:
    """Find out whether a webhook answers, so that no object is blamed for one that does not: then its circuit is open."""
    others = [version.name for version in definition.versions if not version.storage]
    if not judged.is_webhook or judged.missing or not others:
        return
    for _ in range(_PROBES):
        label = f"{definition.group}/{definition.storage_version.name}"
        probe: Object = {"apiVersion": label, "kind": definition.names.kind, "metadata": {"name": "apiext-plan", "uid": str(uuid4())}}
        if definition.namespaced:
            probe["metadata"]["namespace"] = "default"
        (answer,) = await judged.converter.convert([probe], f"{definition.group}/{others[0]}")
        if not is_unconvertible(answer) or judged.missing:
            return


def _joined(first: ObjectsReport, last: ObjectsReport) -> ObjectsReport:
    """Return the report about two parts of the way. Of appliers and managers, the end counts."""
    known = {_group(finding): finding for finding in first.findings if finding.kind not in _OF_THE_END}
    for finding in last.findings:
        group = _group(finding)
        known[group] = max(known.get(group, finding), finding, key=lambda one: one.count - one.already)
    return replace(
        last,
        total=first.total,
        unchanged=min(first.unchanged, last.unchanged),
        findings=_sorted(known.values()),
        stored_is_exact=first.stored_is_exact,
        unreadable=first.unreadable,
        not_judged=[*first.not_judged, *(part for part in last.not_judged if part not in first.not_judged)],
    )


def _with_created(report: ObjectsReport, created: ObjectsReport, strange: Sequence[NotJudged]) -> ObjectsReport:
    """Return the report about existing objects with those that do not exist yet, and what is not judged."""
    found = {_group(finding): finding for finding in report.findings}
    for finding in created.findings:
        same = found.get(_group(finding))
        if same is not None:
            examples = [*same.examples, *finding.examples][:MAX_EXAMPLES]
            found[_group(finding)] = replace(same, count=same.count + finding.count, examples=examples)
        else:
            found[_group(finding)] = finding
    return replace(
        report,
        total=report.total + created.total,
        unchanged=report.unchanged + created.unchanged,
        only_new=created.total,
        invalid=report.invalid + created.invalid,
        findings=_sorted(found.values()),
        not_judged=[*report.not_judged, *strange],
    )


def _sorted(findings: Iterable[ObjectFinding]) -> list[ObjectFinding]:
    order = list(FindingKind)
    return sorted(findings, key=lambda one: (order.index(one.kind), one.version, one.path, one.message))


def _group(finding: ObjectFinding) -> Group:
    return Group(finding.kind, finding.version, finding.path, finding.message)
