"""What writes in one version, and conversions there and back, do to the fields of other versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.evaluation.fields import ABSENT, FieldDifference, What, at, differences, same_content, text_differences
from apiext.tools.judgement.findings import Findings, Group
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.judgement.variants import ChangedObject, Variants
from apiext.tools.judgement.writes import with_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.evaluation.compiled_definition import CompiledDefinition
    from apiext.tools.judgement.writes import Writes

_BATCH: Final = 100
"""Objects of one call of a webhook; each is sent in up to four forms."""
_KINDS: Final = {What.MISSING: FindingKind.LOST, What.CHANGED: FindingKind.ALTERED, What.ADDED: FindingKind.GAINED}
_VERBS: Final = {What.MISSING: "drops", What.CHANGED: "changes", What.ADDED: "adds"}


def lost_by_writes(judged: CompiledDefinition, reads: Mapping[str, Object], writes: Mapping[str, Writes]) -> list[Group]:
    """Return what an update of a label in each version does to an object, for conversion strategy None.

    `reads` has the object in each served version, `writes` its writes.
    """
    if is_same_everywhere(judged, reads, writes):
        return []
    found: dict[Group, None] = {}
    for name, write in writes.items():
        if write.written is None:
            continue
        try:
            after = judged.reread(name, write.written, reads)
        except ValueError as error:
            found[Group(FindingKind.UNCONVERTIBLE, name, "", f"a write at {name} cannot be stored: {error}")] = None
            continue
        for reader, obj in after.items():
            if same_content(reads[reader], obj):
                continue
            for difference in differences(reads[reader], obj, judged.version(reader).schema.structural):
                message = f"a label set at {name} {_VERBS[difference.what]} {difference.path}"
                found[Group(_KINDS[difference.what], name, difference.path, message)] = None
    return list(found)


def is_same_everywhere(judged: CompiledDefinition, reads: Mapping[str, Object], writes: Mapping[str, Writes]) -> bool:
    """Return whether all versions have all fields of an object and the same defaults: then no write loses anything."""
    if judged.storage not in reads or len(writes) != len(reads):
        return False
    first = next(iter(reads.values()))
    return all(writes[name].body is obj and same_content(first, obj) for name, obj in reads.items())


class WebhookRoundTrips:
    """Converts objects with a webhook through every pair of versions and back, unchanged and changed in between."""

    def __init__(self, judged: CompiledDefinition, findings: Findings) -> None:
        self._judged = judged
        self._findings = findings
        versions = [*judged.served]
        if judged.storage not in versions:
            versions.append(judged.storage)
        self.versions = tuple(versions)
        self._variants = {name: Variants(judged.version(name)) for name in versions}

    async def judge(self, keys: Sequence[str], reads: Mapping[str, Sequence[Object | Exception]]) -> None:
        """Judge the objects of a page. `reads` has them in each of the versions."""
        for begin in range(0, len(keys), _BATCH):
            part = slice(begin, begin + _BATCH)
            for source in self.versions:
                for target in self.versions:
                    if source != target and not self._judged.converter.missing:
                        await self._pair(keys[part], reads[source][part], source, target)

    async def _pair(self, keys: Sequence[str], objects: Sequence[Object | Exception], source: str, target: str) -> None:
        given = [(key, obj) for key, obj in zip(keys, objects, strict=True) if not isinstance(obj, Exception)]
        there = await self._judged.convert(target, [json_values.copy(obj) for _, obj in given])
        trips = []
        for (key, obj), found in zip(given, there, strict=True):
            if isinstance(found, Exception):
                self._failed(key, target, found, f"a conversion from {source} to {target} fails")
            else:
                trips.append((key, obj, found))
        await self._unchanged(trips, source, target)
        await self._changed([(key, variant) for key, _, obj in trips for variant in self._variants[target].of(obj)], source, target)

    async def _unchanged(self, trips: Sequence[tuple[str, Object, Object]], source: str, target: str) -> None:
        """Convert objects back, with a label set."""
        bodies = [with_label(self._judged.version(target).body(obj)) for _, _, obj in trips]
        back = await self._judged.convert(source, [json_values.copy(body) for body in bodies])
        schema = self._judged.version(source).schema.structural
        for (key, before, _), after in zip(trips, back, strict=True):
            if isinstance(after, Exception):
                self._failed(key, source, after, f"a conversion from {target} to {source} fails")
                continue
            found = differences(before, after, schema, typed=True) + text_differences(with_label(before), after)
            for difference in found:
                self._add(key, difference, source, target)

    def _add(self, key: str, difference: FieldDifference, source: str, target: str) -> None:
        message = f"a label set at {target} {_VERBS[difference.what]} {difference.path}, as read at {source}"
        if difference.path == "metadata.labels[]" and difference.what is What.MISSING and difference.before == "true":
            message = f"labels set at {target} are lost in {source}"
        self._findings.add(key, Group(_KINDS[difference.what], target, difference.path, message))

    async def _changed(self, variants: Sequence[tuple[str, ChangedObject]], source: str, target: str) -> None:
        """Convert changed objects to the other version and back."""
        back = await self._judged.convert(source, [json_values.copy(variant.object) for _, variant in variants])
        again = await self._judged.convert(target, back)
        for (key, variant), found in zip(variants, again, strict=True):
            verb = "removed" if variant.is_removal else "changed"
            if isinstance(found, Exception):
                self._failed(key, source, found, f"a conversion from {target} to {source} and back fails after {variant.path} is {verb}")
                continue
            kind = _fate(variant, at(found, variant.steps))
            if kind is FindingKind.RESURRECTED:
                message = f"{variant.path} {verb} at {target} has its former value after a conversion to {source} and back"
            elif kind is FindingKind.LOST:
                message = f"a change of {variant.path} at {target} is lost by a conversion to {source} and back"
            else:
                continue
            self._findings.add(key, Group(kind, target, variant.path, message))

    def _failed(self, key: str, version: str, error: Exception, what: str) -> None:
        if not self._judged.converter.missing:
            self._findings.add(key, Group(FindingKind.UNCONVERTIBLE, version, "", f"{what}: {error}"))


def _fate(variant: ChangedObject, value: Any) -> FindingKind | None:
    """Return what became of a change, None if it is still there."""
    wanted = at(variant.object, variant.steps)
    if value is ABSENT and wanted is ABSENT:
        return None
    if value is not ABSENT and wanted is not ABSENT and json_values.equal(value, wanted):
        return None
    if value is not ABSENT and (variant.is_removal or json_values.equal(value, variant.before)):
        return FindingKind.RESURRECTED
    return FindingKind.LOST
