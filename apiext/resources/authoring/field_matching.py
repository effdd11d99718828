"""Finds the fields of two schemas that may be the same under another name or at another place."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.resources.conversion.rules.model import FieldSteps
    from apiext.schema.model import Structural

_GENERIC: Final = frozenset(
    {"name", "namespace", "type", "kind", "value", "key", "spec", "status", "enabled", "labels", "annotations", "id"}
)
"""Names that say little about what a field is."""
_LEAST_SCORE: Final = 3.5
_LEAST_LIKENESS: Final = 0.55
_LIKE_NAME: Final = 0.75
_DEPTH: Final = 4
_MOST: Final = 300
"""Fields of each version that are compared with each other."""
_SENTENCE: Final = re.compile(r"^[^.\n]{20,}")


@dataclass(frozen=True, slots=True)
class LoneField:
    """A field that one version alone has at its place."""

    steps: FieldSteps
    schema: Structural

    @property
    def prefix(self) -> FieldSteps:
        """Return the part of the path through the last [*]."""
        ends = [index + 1 for index, step in enumerate(self.steps) if step == EACH]
        return self.steps[: ends[-1]] if ends else ()


@dataclass(frozen=True, slots=True)
class FieldMatch:
    """Two fields that are probably the same."""

    source: LoneField
    target: LoneField
    reason: str


def match_fields(sources: Sequence[LoneField], targets: Sequence[LoneField]) -> list[FieldMatch]:
    """Return the pairs of fields that fit each other best. A field, with all below it, is in one pair at most."""
    scored = sorted(
        (
            (score, found)
            for source in _with_inner(sources)
            for target in _with_inner(targets)
            if source.prefix == target.prefix
            for score, found in _compared(source, target)
        ),
        key=lambda each: (-each[0], len(each[1].source.steps), each[1].source.steps, each[1].target.steps),
    )
    matches: list[FieldMatch] = []
    for _score, match in scored:
        if not any(
            _overlap(match.source.steps, known.source.steps) or _overlap(match.target.steps, known.target.steps) for known in matches
        ):
            matches.append(match)
    return sorted(matches, key=lambda match: match.source.steps)


def _with_inner(fields: Sequence[LoneField]) -> list[LoneField]:
    """Return fields, and those below them that are not in lists or maps."""
    found: list[LoneField] = []
    for field in fields:
        found += _descend(field, _DEPTH)
    return found[:_MOST]


def _descend(field: LoneField, depth: int) -> Iterator[LoneField]:
    yield field
    if depth:
        for name, child in field.schema.properties.items():
            yield from _descend(LoneField((*field.steps, name), child), depth - 1)


def _overlap(one: FieldSteps, other: FieldSteps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _compared(source: LoneField, target: LoneField) -> Iterator[tuple[float, FieldMatch]]:
    """Yield a match with its score if two fields are alike enough."""
    name, other = source.steps[-1], target.steps[-1]
    if _kind(source.schema) != _kind(target.schema):
        return
    score, reasons = 0.0, []
    likeness = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
    if name == other:
        score += 2 if name in _GENERIC else 5
        reasons.append("the same name")
    elif likeness >= _LIKE_NAME or name.lower() in other.lower() or other.lower() in name.lower():
        score += 3 * max(likeness, _LEAST_LIKENESS)
        reasons.append("a similar name")
    if _same_text(source.schema, target.schema):
        score += 3
        reasons.append("the same description")
    likeness = _likeness(source.schema, target.schema)
    if likeness >= _LEAST_LIKENESS:
        score += 2 * likeness
        reasons.append("the same fields" if source.schema.properties else "the same values")
    if source.steps[:-1] == target.steps[:-1]:
        score += 1.5
    elif name != other:
        score -= 1
    if score >= _LEAST_SCORE:
        yield score, FieldMatch(source, target, ", ".join(reasons).capitalize())


def _kind(schema: Structural) -> Any:
    """Return what two schemas must share for a move without a change of the value."""
    raw = schema.raw
    if schema.items is not None:
        return "array", _kind(schema.items)
    if schema.additional is not None:
        return "map", _kind(schema.additional)
    return raw.get("type"), raw.get("x-kubernetes-int-or-string")


def _same_text(one: Structural, other: Structural) -> bool:
    found = [_SENTENCE.match(each.raw.get("description") or "") for each in (one, other)]
    return found[0] is not None and found[1] is not None and _words(found[0][0]) == _words(found[1][0])


def _words(text: str) -> list[str]:
    """Return the words of a description but the first, which is the name of the field."""
    return text.lower().split()[1:]


def _likeness(one: Structural, other: Structural) -> float:
    """Return how alike the members or values of two schemas are, between 0 and 1; 0 if they have none."""
    for each in ((one.items, other.items), (one.additional, other.additional)):
        if each[0] is not None and each[1] is not None:
            return _likeness(each[0], each[1])
    members = (set(one.properties), set(other.properties))
    if not members[0] and not members[1]:
        members = (set(map(repr, one.raw.get("enum") or ())), set(map(repr, other.raw.get("enum") or ())))
    every = members[0] | members[1]
    return len(members[0] & members[1]) / len(every) if every else 0.0
