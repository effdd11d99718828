"""Judges the objects of one definition that is replaced by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.texts import counted
from apiext.resources.evaluation.compiled_definition import CompiledDefinition, is_unconvertible
from apiext.resources.evaluation.fields import What, described, differences, general, same_content, steps_of, text_differences
from apiext.tools.judgement.appliers import MAX_WITH_WEBHOOK, Appliers
from apiext.tools.judgement.findings import Findings, Group
from apiext.tools.judgement.outcome import FindingKind, NotJudged, ObjectsReport
from apiext.tools.judgement.round_trips import WebhookRoundTrips, lost_by_writes
from apiext.tools.judgement.schema_shape import differing_versions
from apiext.tools.judgement.stored_page import DEFAULT_NAMESPACE, stored_page, with_metadata
from apiext.tools.judgement.writes import Problem, Writes, judge_writes
from apiext.tools.releases.interface import SourceObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.evaluation.compiled_definition import Converters
    from apiext.resources.evaluation.compiled_version import CompiledVersion

_UNREADABLE: Final = (FindingKind.UNREADABLE, FindingKind.UNCONVERTIBLE)

Reads = dict[str, "list[Object | Exception]"]
"""The objects of a page in each version; an error in the place of each unreadable one."""

_UNKNOWN: Final = 'unknown field "'

_KINDS: Final = {What.MISSING: FindingKind.PRUNED, What.ADDED: FindingKind.DEFAULTED, What.CHANGED: FindingKind.CHANGED}
_TEXTS: Final = {
    What.MISSING: "a read no longer gives the field",
    What.ADDED: "a read gives the field, which it did not give before",
    What.CHANGED: "a read gives another value",
}


class RuleCosts:
    """The object with the largest share. Exact costs are counted only for objects that may have a larger one."""

    def __init__(self) -> None:
        self.share = 0.0
        self.key = ""

    def add(self, key: str, version: CompiledVersion, obj: Object) -> None:
        """Add an object in a version."""
        if not version.schema.has_rules:
            return
        if self.key and version.cost_share(obj, exact=False) <= self.share:
            return
        share = version.cost_share(obj, exact=True)
        if share > self.share or not self.key:
            self.share, self.key = share, key


def compare_reads(judged: CompiledDefinition, key: str, name: str, before: Object | Exception, after: Object, findings: Findings) -> None:
    """Add what a read in a version gives now that it did not give before. A read that failed before is no problem."""
    if isinstance(before, Exception) or before is after:
        return
    is_webhook = judged.converter.is_webhook
    if not is_webhook and same_content(before, after):
        return
    found = differences(before, after, judged.version(name).schema.structural, typed=is_webhook)
    for difference in [*found, *text_differences(before, after)] if is_webhook else found:
        findings.add(key, Group(_KINDS[difference.what], name, difference.path, _TEXTS[difference.what]))


def unreadable(key: str, name: str, error: Exception, findings: Findings, *, already: bool) -> None:
    """Add the error of a read."""
    kind = FindingKind.UNCONVERTIBLE if is_unconvertible(error) else FindingKind.UNREADABLE
    findings.add(key, Group(kind, name, "", f"a read at {name} fails: {error}"), already=already)


def judge_creation(judged: CompiledDefinition, source: SourceObject, findings: Findings) -> None:
    """Add the reasons why an object cannot be created, and the fields that a create drops."""
    name = str(source.object.get("apiVersion", "")).rpartition("/")[2]
    if not judged.has(str(source.object.get("apiVersion", ""))) or name not in judged.served:
        text = f"the manifest names {name}, which is not served"
        findings.add(source.key, Group(FindingKind.UNKNOWN_VERSION, name, "", text))
        return
    version = judged.version(name)
    schema = version.schema.structural
    obj = with_metadata(source.object)
    if judged.definition.namespaced and not obj["metadata"].get("namespace"):
        obj = with_metadata(obj, namespace=source.key.rpartition("/")[0] or DEFAULT_NAMESPACE)
    try:
        obj, unknown = version.decode(obj)
    except ValueError as error:
        findings.add(source.key, Group(FindingKind.INVALID, name, "", str(error)))
        return
    for text in unknown:
        path = general(steps_of(text.removeprefix(_UNKNOWN).removesuffix('"'), source.object), schema)
        findings.add(source.key, Group(FindingKind.PRUNED, name, path, "a create drops the unknown field"))
    for problem in version.content_errors(obj):
        path, message = described(problem, obj, schema)
        findings.add(source.key, Group(FindingKind.INVALID, name, path, message))


class Judge:
    """Judges objects page by page. It keeps no object."""

    def __init__(self, old: Definition | None, new: Definition, *, converters: Converters) -> None:
        """Prepare the judgement. Without `old`, the objects are to be created."""
        self._old = CompiledDefinition(old, converters.old) if old is not None else None
        self._new = CompiledDefinition(new, converters.new)
        self._findings = Findings()
        self._costs = RuleCosts()
        self._report = ObjectsReport()
        self._not_judged: dict[str, str] = {}
        self._webhook = WebhookRoundTrips(self._new, self._findings) if converters.new.is_webhook else None
        self._appliers = Appliers(self._old, self._new, self._findings) if self._old is not None else None
        self._same = self._reads_are_equal()

    def _reads_are_equal(self) -> bool:
        """Return whether reads surely give the same before and after."""
        old, new = self._old, self._new
        if old is None or old.converter.is_webhook or new.converter.is_webhook or set(new.served) - set(old.served):
            return False
        # a read prunes and defaults by the version of the bytes, which may be any
        return not differing_versions(old, new)

    async def add(self, page: Sequence[SourceObject]) -> None:
        """Judge a page of objects."""
        report = self._report
        report.total += len(page)
        for each in page:
            version = str(each.object.get("apiVersion", "")).rpartition("/")[2]
            report.stored[version] = report.stored.get(version, 0) + 1
            report.stored_is_exact &= each.is_stored
        if self._old is None:
            for each in page:
                judge_creation(self._new, each, self._findings)
            report.invalid += sum(self._findings.has(each.key, FindingKind.INVALID, FindingKind.UNKNOWN_VERSION) for each in page)
        else:
            await self._change(self._old, page)
        report.unchanged += len(page) - self._findings.end_page()

    async def _change(self, old: CompiledDefinition, page: Sequence[SourceObject]) -> None:
        """Judge objects that exist under the old definition."""
        stored = await stored_page(old, page)
        self._check_manifests(page)
        # schemas recognize the object that they have just read
        size = len(page) if old.converter.is_webhook or self._webhook is not None else 1
        for begin in range(0, len(page), size):
            part = slice(begin, begin + size)
            await self._part(old, stored.keys[part], stored.data[part])
        if self._new.converter.missing:
            self._not_judged["conversion"] = self._new.converter.missing

    async def _part(self, old: CompiledDefinition, keys: Sequence[str], data: Sequence[bytes]) -> None:
        """Judge a part of a page, which is read by one call of a webhook for each version."""
        after = await self._reads(self._new, data, "reads")
        before = after if self._same else await self._reads(old, data, "reads under the old definition")
        for place, key in enumerate(keys):
            try:
                await self._object(old, key, place, before, after)
            except RecursionError:
                self._findings.add(key, Group(FindingKind.STUCK, "", "", "the object is nested too deeply"))
        if self._webhook is not None and not self._new.converter.missing:
            missing = [name for name in self._webhook.versions if name not in after]
            reads = after | {name: await self._new.read(name, data) for name in missing}
            await self._webhook.judge(keys, reads)

    async def _object(self, old: CompiledDefinition, key: str, place: int, before: Reads, after: Reads) -> None:
        """Judge one object of a page."""
        now = self._readable(key, place, before, after)
        was = {name: obj for name, objects in before.items() if not isinstance(obj := objects[place], Exception)}
        self._write(old, key, was, now)
        if self._appliers is not None:
            await self._appliers.judge(key, was, now)

    def _check_manifests(self, page: Sequence[SourceObject]) -> None:
        """Add the manifests, which no server has written, that name a version which is no longer served."""
        for each in page:
            version = str(each.object.get("apiVersion", "")).rpartition("/")[2]
            is_manifest = not each.is_stored and not (each.object.get("metadata") or {}).get("uid")
            if is_manifest and version not in self._new.served:
                text = f"the manifest names {version}, which is not served"
                self._findings.add(each.key, Group(FindingKind.UNKNOWN_VERSION, version, "", text))

    async def _reads(self, judged: CompiledDefinition, data: Sequence[bytes], what: str) -> Reads:
        """Return stored objects in all served versions."""
        found = {name: await judged.read(name, data) for name in judged.served}
        if judged.converter.missing and any(is_unconvertible(obj) for objects in found.values() for obj in objects):
            self._not_judged[what] = judged.converter.missing
        return found

    def _readable(self, key: str, place: int, before: Reads, after: Reads) -> dict[str, Object]:
        """Compare the reads of an object. Return it in the versions in which it is readable."""
        found: dict[str, Object] = {}
        was_unreadable = bool(before) and all(isinstance(objects[place], Exception) for objects in before.values())
        for name, objects in after.items():
            obj, earlier = objects[place], before[name][place] if name in before else None
            if isinstance(obj, Exception):
                if not (self._new.converter.missing and is_unconvertible(obj)):
                    unreadable(
                        key, name, obj, self._findings, already=was_unreadable if earlier is None else isinstance(earlier, Exception)
                    )
                continue
            found[name] = obj
            if earlier is not None and before is not after:
                compare_reads(self._new, key, name, earlier, obj, self._findings)
        self._report.unreadable += self._findings.has(key, *_UNREADABLE)
        return found

    def _write(self, old: CompiledDefinition, key: str, was: Mapping[str, Object], now: Mapping[str, Object]) -> None:
        """Judge the writes of an object in all versions."""
        writes = {name: judge_writes(self._new.version(name), obj) for name, obj in now.items()}
        known: dict[str, Writes] = {}
        for name, found in writes.items():
            self._costs.add(key, self._new.version(name), found.body)
            if found.invalid or found.stuck or found.stuck_status:
                earlier = known[name] = _earlier(old, name, was)
                self._add_problems(key, name, found, earlier)
        invalid, stuck = (any(getattr(found, what) for found in writes.values()) for what in ("invalid", "stuck"))
        self._report.invalid += invalid
        self._report.stuck += stuck
        self._report.tolerated += invalid and not stuck
        if self._webhook is None and now:
            groups = lost_by_writes(self._new, now, writes)
            if groups:
                earlier_writes = {name: known.get(name) or judge_writes(old.version(name), obj) for name, obj in was.items()}
                before = set(lost_by_writes(old, was, earlier_writes)) if not old.converter.is_webhook else set()
                for group in groups:
                    self._findings.add(key, group, already=group in before)

    def _add_problems(self, key: str, name: str, found: Writes, earlier: Writes) -> None:
        def add(kind: FindingKind, problems: Mapping[Problem, None], before: Mapping[Problem, None]) -> None:
            for path, message in problems:
                self._findings.add(key, Group(kind, name, path, message), already=(path, message) in before)

        add(FindingKind.STUCK, found.stuck, earlier.stuck)
        add(FindingKind.STUCK_STATUS, found.stuck_status, earlier.stuck_status)
        reported = {path for path, _ in found.stuck_status}
        left = {problem: None for problem in found.invalid if problem not in found.stuck and problem[0] not in reported}
        add(FindingKind.TOLERATED, left, earlier.invalid)

    async def rewritten(self, page: Sequence[SourceObject]) -> list[SourceObject]:
        """Return the objects as the new definition stores them after a write that changes nothing, such as a migration's.

        Objects that cannot be written stay as they are. The judge with the definitions exchanged judges the result: the rollback.
        """
        new = self._new
        stored = await stored_page(self._old or new, page)
        name = new.storage
        version = new.version(name)
        found: list[Object | Exception] = []
        for obj in await new.read(name, stored.data):
            if isinstance(obj, Exception):
                found.append(obj)
                continue
            try:
                written, _, refusal = version.update(version.body(obj), obj)
            except ValueError as error:
                found.append(error)
            else:
                found.append(written if refusal is None else refusal.status)
        written_data = await new.store(name, found)
        data = [now if isinstance(now, bytes) else was for was, now in zip(stored.data, written_data, strict=True)]
        return [SourceObject(key, json_codec.loads(each), is_stored=True) for key, each in zip(stored.keys, data, strict=True)]

    def report(self) -> ObjectsReport:
        """Return the judgement of all objects so far."""
        report = self._report
        report.findings = self._findings.sorted()
        report.stored = dict(sorted(report.stored.items()))
        report.cost_share, report.cost_object = self._costs.share, self._costs.key
        if self._appliers is not None and self._appliers.skipped:
            skipped = self._appliers.skipped
            self._not_judged["appliers"] = (
                f"{counted(skipped, 'object')}: each takes several calls of the webhook, {MAX_WITH_WEBHOOK} are judged"
            )
        report.not_judged = [NotJudged(what, why) for what, why in sorted(self._not_judged.items())]
        return report


def _earlier(old: CompiledDefinition, name: str, was: Mapping[str, Object]) -> Writes:
    """Return the writes of an object under the old definition, in the same version or else in the storage version."""
    for each in (name, old.storage):
        if each in was:
            return judge_writes(old.version(each), was[each])
    return Writes()
