"""What the judgement of objects says about each of them, in the words of a comparison with the reference."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.compiled_definition import Converters
from apiext.resources.evaluation.fields import What, differences
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind, ObjectFinding
from apiext.tools.releases.interface import SourceObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from apiext.resources.evaluation.compiled_definition import CompiledDefinition
    from apiext.schema.model import Structural

Json = dict[str, Any]
_UNREADABLE: Final = frozenset({FindingKind.UNREADABLE, FindingKind.UNCONVERTIBLE})
_READS: Final = {FindingKind.PRUNED: What.MISSING, FindingKind.DEFAULTED: What.ADDED, FindingKind.CHANGED: What.CHANGED}
_WRITES: Final = {FindingKind.LOST: What.MISSING, FindingKind.GAINED: What.ADDED, FindingKind.ALTERED: What.CHANGED}
_APPLIES: Final = frozenset({FindingKind.APPLIER, FindingKind.CONFLICT, FindingKind.UNAPPLIED})


class ForetoldHarm:
    """The findings of each object."""

    def __init__(self, new: CompiledDefinition, findings: Mapping[str, list[ObjectFinding]]) -> None:
        self._new = new
        self._findings = findings

    @classmethod
    async def judge(cls, old: CompiledDefinition, new: CompiledDefinition, data: Mapping[str, bytes]) -> Self:
        """Judge all stored objects of a definition, by name."""
        findings: dict[str, list[ObjectFinding]] = {name: [] for name in data}
        names = list(data)
        for begin in range(0, len(names), MAX_EXAMPLES):  # a finding names all objects of such a part
            judge = Judge(old.definition, new.definition, converters=Converters(old.converter, new.converter))
            part = names[begin : begin + MAX_EXAMPLES]
            await judge.add([SourceObject(name, json_codec.loads(data[name]), is_stored=True) for name in part])
            for finding in judge.report().findings:
                for name in finding.examples:
                    findings[name].append(finding)
        return cls(new, findings)

    def _of(self, name: str, version: str, kinds: Iterable[FindingKind]) -> list[ObjectFinding]:
        return [each for each in self._findings[name] if each.kind in kinds and each.version in ("", version)]

    def is_readable(self, version: str, name: str) -> bool:
        """Return whether reads in a version are foretold to work."""
        return not self._of(name, version, _UNREADABLE)

    def is_updatable(self, version: str, name: str, subresource: str = "") -> bool:
        """Return whether updates in a version that change nothing of the content are foretold to pass."""
        return not self._of(name, version, [FindingKind.STUCK_STATUS if subresource else FindingKind.STUCK])

    def of_read(self, version: str, name: str) -> list[list[str]]:
        """Return the foretold changes of reads in a version: what and where."""
        return _unique((_READS[each.kind], each.path) for each in self._of(name, version, _READS))

    def of_write(self, version: str, name: str) -> list[list[str]]:
        """Return the foretold changes that a write in a version does to any version: what and where."""
        return _unique((_WRITES[each.kind], each.path) for each in self._of(name, version, _WRITES))

    def of_apply(self, version: str, name: str, manager: str) -> bool:
        """Return whether a repeated apply is foretold to pass and to take nothing away."""
        if any(each.kind is FindingKind.MANAGER for each in self._findings[name]) or not self.is_updatable(version, name):
            return False
        who = f"by {manager} "
        return not any(who in each.message or each.message.startswith(f"{manager} ") for each in self._of(name, version, _APPLIES))

    def differences(self, version: str, before: Json, after: Json) -> list[list[str]]:
        """Return how the content of two answers differs: what and where."""
        found = differences(before, after, self._new.version(version).schema.structural)
        return _unique((each.what, each.path) for each in found)

    def unchanged(self) -> list[str]:
        """Return the names of the objects without findings."""
        return [name for name, findings in self._findings.items() if not findings]

    def kinds(self) -> Iterator[str]:
        """Yield the kinds of findings of each object, "unchanged" for an object without any."""
        for findings in self._findings.values():
            yield from sorted({each.kind.value for each in findings}) or ["unchanged"]


def is_harmless_apply(schema: Structural, live: Json, code: int, answer: Any, of_any_write: Sequence[Sequence[str]] = ()) -> bool:
    """Return whether an apply passed, and took nothing away beyond what any write in its version does."""
    if code != HTTPStatus.OK:
        return False
    found = differences(live, answer, schema)
    return all(each.what is What.ADDED or [each.what.value, each.path] in of_any_write for each in found)


def _unique(found: Iterable[tuple[What, str]]) -> list[list[str]]:
    return [list(pair) for pair in sorted({(what.value, path) for what, path in found})]
