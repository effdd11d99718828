"""Rules of allOf, anyOf, oneOf and not: whether their clauses became narrower or wider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from apiext.base.meta.encoding.json_values import equal, identity
from apiext.resources.comparison.change import Direction, UngradedChange
from apiext.resources.comparison.rule_texts import BOUNDS
from apiext.resources.comparison.rules import RULES
from apiext.resources.comparison.shown import shown
from apiext.resources.comparison.type_keywords import TYPE_RULES
from apiext.resources.comparison.value_keywords import VALUE_RULES, KeywordRule
from apiext.schema.model import Props

_NARROWED, _WIDENED, _CHANGED = Direction.NARROWED, Direction.WIDENED, Direction.CHANGED
_OPPOSITE: Final = {_NARROWED: _WIDENED, _WIDENED: _NARROWED}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
"""The anyOf that generators add to int-or-string; it restricts nothing."""
_TEXTS: Final = frozenset({"documentationChanged", "descriptionChanged"})
_NO_CLAUSE: Final[Props] = {}

_Directions = set[Direction]


def _clause_rule(keyword: str, old: Props, new: Props) -> Iterator[UngradedChange]:
    directions = _DIRECTIONS[keyword](*(_clauses(keyword, props) for props in (old, new)))
    if not directions:
        return
    name = "Narrowed" if directions == {_NARROWED} else "Widened" if directions == {_WIDENED} else "Changed"
    before, after = old.get(keyword), new.get(keyword)
    if not before and after:
        message = f"{keyword} {shown(after)} was added"
    elif before and not after:
        message = f"{keyword} {shown(before)} was removed"
    else:
        message = f"{keyword} changed from {shown(before)} to {shown(after)}"
    yield UngradedChange(f"{keyword}{name}", message)


def _clauses(keyword: str, props: Props) -> list[Props]:
    """Return the clauses of a keyword that restrict values."""
    if keyword == "not":
        return [props["not"]] if props.get("not") is not None else []
    clauses: list[Props] = [clause or _NO_CLAUSE for clause in props.get(keyword) or ()]
    if props.get("x-kubernetes-int-or-string") is True:
        if keyword == "anyOf" and clauses == _INT_OR_STRING:
            return []
        if keyword == "allOf" and clauses and clauses[0] == {"anyOf": _INT_OR_STRING}:
            return clauses[1:]
    return clauses


def without_simple_clauses(props: Props) -> Props:
    """Return a schema that says itself what clauses of allOf say, as far as it can: generators write the same in both ways."""
    if not props.get("allOf"):
        return props
    found, left = {key: value for key, value in props.items() if key != "allOf"}, []
    for clause in props["allOf"]:
        rest: dict[str, Any] = {}
        for key, value in (clause or _NO_CLAUSE).items():
            joined = None if clause.keys() & _EXCLUSIVE and key in _BOUNDS else _joined(key, found, value)
            found, rest = (found, rest | {key: value}) if joined is None else (found | {key: joined}, rest)
        if rest.keys() - _DOCUMENTATION:
            left.append(rest)
    return {**found, "allOf": left} if left else found


def _joined(keyword: str, props: Props, other: Any) -> Any:
    """Return the value of a keyword that means the same as its value in a schema and another one, None if there is none."""
    value = props.get(keyword)
    if keyword == "enum" and props.get("nullable") is True:
        # a schema's own enum refuses null, a clause's does not
        return None
    if keyword == "enum":
        values = {*map(identity, other)}
        # no values would be no enum
        return [one for one in value if identity(one) in values] or None if value else other
    if keyword == "required":
        return [*dict.fromkeys([*(value or ()), *other])]
    if keyword in _BOUNDS and not props.keys() & _EXCLUSIVE:
        return other if value is None else (min if keyword.startswith("max") else max)(value, other)
    return other if keyword in _SAME and value in (None, other) else None


_EXCLUSIVE: Final = frozenset({"exclusiveMinimum", "exclusiveMaximum"})
_BOUNDS: Final = frozenset(BOUNDS)
_SAME: Final = frozenset({"pattern", "multipleOf", "uniqueItems"})
"""Keywords that a schema and a clause can only share if they say the same. A clause has no type, to which a format could apply."""
_DOCUMENTATION: Final = frozenset({"description", "title", "example", "externalDocs"})


def _all_of(old: list[Props], new: list[Props]) -> _Directions:
    gone, come = _apart(old, new)
    if gone and come and len(gone) != len(come):
        return {_CHANGED}
    if gone and come:
        return _paired(gone, come)
    return {_NARROWED} if come else {_WIDENED} if gone else set()


def _any_of(old: list[Props], new: list[Props]) -> _Directions:
    gone, come = _apart(old, new)
    if not old or not new:
        return {_NARROWED} if new else {_WIDENED} if old else set()
    if gone and come and len(gone) != len(come):
        return {_CHANGED}
    if gone and come:
        return _paired(gone, come)
    return {_WIDENED} if come else {_NARROWED} if gone else set()


def _one_of(old: list[Props], new: list[Props]) -> _Directions:
    if not old or not new:
        return {_NARROWED} if new else {_WIDENED} if old else set()
    # a value that one clause accepts may be accepted by two now
    gone, come = _apart(old, new)
    return {_CHANGED} if gone or come else set()


def _not(old: list[Props], new: list[Props]) -> _Directions:
    if not old or not new:
        return {_NARROWED} if new else {_WIDENED} if old else set()
    return {_OPPOSITE.get(direction, _CHANGED) for direction in _directions(old[0], new[0])}


def _apart(old: list[Props], new: list[Props]) -> tuple[list[Props], list[Props]]:
    """Return the clauses that only one side has."""
    before, after = ({identity(clause): clause for clause in clauses} for clauses in (old, new))
    return [clause for key, clause in before.items() if key not in after], [clause for key, clause in after.items() if key not in before]


def _paired(old: list[Props], new: list[Props]) -> _Directions:
    return {direction for before, after in zip(old, new, strict=True) for direction in _directions(before, after)}


def _directions(old: Props, new: Props) -> _Directions:
    """Return the directions of all changes of a clause. What a clause does not mention, it does not restrict."""
    rules = dict.fromkeys(rule for keyword in (*old, *new) if (rule := _NESTED_RULES.get(keyword)) is not None)
    found = {RULES[change.rule].direction for rule in rules for change in rule(old, new) if change.rule not in _TEXTS}
    for before, after in _children(old, new):
        if not equal(before, after):
            found |= _directions(before, after)
    return found


def _children(old: Props, new: Props) -> Iterator[tuple[Props, Props]]:
    before, after = (props.get("properties") or _NO_CLAUSE for props in (old, new))
    for name in before.keys() | after.keys():
        yield before.get(name) or _NO_CLAUSE, after.get(name) or _NO_CLAUSE
    for keyword in ("items", "additionalProperties"):
        below = [props.get(keyword) for props in (old, new)]
        if any(isinstance(child, Mapping) for child in below):
            one, other = (child if isinstance(child, Mapping) else _NO_CLAUSE for child in below)
            yield one, other


_DIRECTIONS: Final = {"allOf": _all_of, "anyOf": _any_of, "oneOf": _one_of, "not": _not}
CLAUSE_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType({keyword: partial(_clause_rule, keyword) for keyword in _DIRECTIONS})
"""The rule of each keyword with clauses."""
_NESTED_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType({**VALUE_RULES, **TYPE_RULES, **CLAUSE_RULES})
