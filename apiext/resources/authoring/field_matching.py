"""Finds the fields of two schemas that may be the same under another name or at another place."""

from __future__ import annotations

import difflib
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import EACH, FieldSteps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from apiext.schema.model import Structural

GENERIC_NAMES: Final = frozenset(
    {"name", "namespace", "type", "kind", "value", "key", "spec", "status", "enabled", "labels", "annotations", "id"}
)
"""Names that say little about what a field is: one without fields of its own is not sought in an object that is not like its own."""
_LEAST_SCORE: Final = 3.5
_LEAST_LIKENESS: Final = 0.55
_LIKE_NAME: Final = 0.75
_MARGIN: Final = 0.25
"""Two matches of one field with scores that differ by less are a guess: neither is made."""
_DEPTH: Final = 4
_MOST: Final = 300
"""Fields of each version that are compared with each other."""
_SENTENCE: Final = re.compile(r"^[^.\n]{20,}")


@dataclass(frozen=True, slots=True)
class LoneField:
    """A field that one version alone has at its place."""

    steps: FieldSteps
    schema: Structural
    siblings: frozenset[str] = frozenset()
    """The names of all fields of the object around it."""

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


@dataclass(frozen=True, slots=True)
class Matches:
    """What fits what."""

    found: list[FieldMatch]
    unclear: list[FieldMatch]
    """Pairs of which several fit equally well: a person decides."""


_Compared = dict[tuple[FieldSteps, FieldSteps], tuple[float, FieldMatch]]
"""The scores of matches by the paths of both fields, objects before their fields."""


def match_fields(sources: Sequence[LoneField], targets: Sequence[LoneField]) -> Matches:
    """Return the pairs of fields that fit each other best. A field, with all below it, is in one found pair at most."""
    inner = _with_inner(sources), _with_inner(targets)
    rarity = _Rarity([*inner[0], *inner[1]])
    compared: _Compared = {}
    for source in inner[0]:
        for target in inner[1]:
            found = _compared(source, target, rarity, compared) if source.prefix == target.prefix else None
            if found is not None:
                compared[source.steps, target.steps] = found
    scored = sorted(
        _with_fields(compared), key=lambda each: (-each[0], len(each[1].source.steps), each[1].source.steps, each[1].target.steps)
    )
    certain: list[FieldMatch] = []
    unclear: list[FieldMatch] = []
    order = [-score for score, _ in scored]
    for score, match in scored:
        if any(_meet(match, known) for known in certain):
            continue
        near = scored[bisect_right(order, -score - _MARGIN) : bisect_left(order, -score + _MARGIN)]
        if any(_rival(match, other) and not any(_meet(other, known) for known in certain) for _, other in near):
            unclear.append(match)
        else:
            certain.append(match)
    unclear = [match for match in unclear if not any(_meet(match, known) for known in certain)]
    return Matches(*(sorted(each, key=lambda match: (match.source.steps, match.target.steps)) for each in (certain, unclear)))


def _with_fields(compared: _Compared) -> Iterable[tuple[float, FieldMatch]]:
    """Return matches in which an object that fits another one is at least as good as the match of one of its fields: it brings them."""
    found = dict(compared)
    for source, target in sorted(compared, key=lambda steps: -len(steps[0])):
        around = found.get((source[:-1], target[:-1]))
        if around is not None and source[-1] == target[-1]:
            found[source[:-1], target[:-1]] = (max(around[0], found[source, target][0]), around[1])
    return found.values()


def _rival(one: FieldMatch, other: FieldMatch) -> bool:
    """Return whether two matches take one field to places that are not within each other."""
    sources, targets = (one.source.steps, other.source.steps), (one.target.steps, other.target.steps)
    return (sources[0] == sources[1] and not _overlap(*targets)) or (targets[0] == targets[1] and not _overlap(*sources))


def _meet(one: FieldMatch, other: FieldMatch) -> bool:
    """Return whether two matches are about the same fields, or about some within the others."""
    return _overlap(one.source.steps, other.source.steps) or _overlap(one.target.steps, other.target.steps)


class _Rarity:
    """How much it says that two fields share something: much if no others have it."""

    def __init__(self, fields: Sequence[LoneField]) -> None:
        self._counts = Counter(mark for field in fields for mark in (field.steps[-1], _members(field.schema), _text(field.schema)))

    def of(self, mark: str | tuple[str, ...] | frozenset[str]) -> float:
        """Return a number between 0 and 1: 1 for what one field of each version has."""
        return 1 / math.sqrt(max(1, self._counts[mark] - 1))


def _with_inner(fields: Sequence[LoneField]) -> list[LoneField]:
    """Return fields, and those below them that are not in lists or maps."""
    found: list[LoneField] = []
    for field in fields:
        found += _descend(field, _DEPTH)
    return found[:_MOST]


def _descend(field: LoneField, depth: int) -> Iterator[LoneField]:
    yield field
    if depth:
        siblings = frozenset(field.schema.properties)
        for name, child in field.schema.properties.items():
            yield from _descend(LoneField((*field.steps, name), child, siblings), depth - 1)


def _overlap(one: FieldSteps, other: FieldSteps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _compared(source: LoneField, target: LoneField, rarity: _Rarity, known: _Compared) -> tuple[float, FieldMatch] | None:
    """Return a match with its score if two fields are alike enough. The objects around them were compared before."""
    name, other = source.steps[-1], target.steps[-1]
    nearness = 1.0 if (source.steps[:-1], target.steps[:-1]) in known else _nearness(source, target)
    is_generic = not source.schema.properties and not GENERIC_NAMES.isdisjoint((name, other))
    if _kind(source.schema) != _kind(target.schema) or (is_generic and nearness < 1):
        return None
    score, reasons = 0.0, []
    likeness = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
    if name == other:
        score += 2 if name in GENERIC_NAMES else 2 + 3 * rarity.of(name)
        reasons.append("the same name")
    elif likeness >= _LIKE_NAME or name.lower() in other.lower() or other.lower() in name.lower():
        score += 3 * max(likeness, _LEAST_LIKENESS)
        reasons.append("a similar name")
    text = _text(source.schema)
    if text and text == _text(target.schema):
        score += 3 * rarity.of(text)
        reasons.append("the same description")
    likeness = member_likeness(source.schema, target.schema)
    if likeness >= _LEAST_LIKENESS:
        score += 2 * likeness * rarity.of(_members(source.schema))
        reasons.append("the same fields" if source.schema.properties else "the same values")
    score += nearness
    return (score, FieldMatch(source, target, ", ".join(reasons).capitalize())) if score >= _LEAST_SCORE else None


def _nearness(source: LoneField, target: LoneField) -> float:
    """Return what the places of two fields say: 1.5 in one object, below 1 in others: less the farther apart, more with their siblings."""
    if source.steps[:-1] == target.steps[:-1]:
        return 1.5
    names = {source.steps[-1], target.steps[-1]}
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(source.steps[:-1], target.steps[:-1], strict=False)))
    around = len(source.steps) + len(target.steps) - 2 - 2 * common
    siblings = len((source.siblings & target.siblings) - names) / max(1, len((source.siblings | target.siblings) - names))
    return 1.25 * siblings - 0.5 * around - (len(names) - 1)


def _kind(schema: Structural) -> Any:
    """Return what two schemas must share for a move without a change of the value."""
    raw = schema.raw
    if schema.items is not None:
        return "array", _kind(schema.items)
    if schema.additional is not None:
        return "map", _kind(schema.additional)
    return raw.get("type"), raw.get("x-kubernetes-int-or-string")


def _text(schema: Structural) -> tuple[str, ...]:
    """Return the words of the first sentence of a description but the first, which is the name of the field; none without."""
    found = _SENTENCE.match(schema.raw.get("description") or "")
    return tuple(found[0].lower().split()[1:]) if found is not None else ()


def _members(schema: Structural) -> frozenset[str]:
    """Return the names of the fields of an object, of the items of a list or of the values of a map, else the values of an enum."""
    inner = schema.items or schema.additional
    if inner is not None:
        return _members(inner)
    return frozenset(schema.properties) or frozenset(map(repr, schema.raw.get("enum") or ()))


def member_likeness(one: Structural, other: Structural) -> float:
    """Return how alike the members or values of two schemas of one kind are, between 0 and 1; 0 if they have none."""
    members = _members(one), _members(other)
    every = members[0] | members[1]
    return len(members[0] & members[1]) / len(every) if every else 0.0
