"""Changes of CEL rules (x-kubernetes-validations). A rule is identified by its text, then by its message, then by its conditions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple

from apiext.resources.comparison.change import Direction, UngradedChange
from apiext.resources.comparison.field_keywords import OtherFields, other_fields
from apiext.resources.comparison.rule_bounds import holds_for_all
from apiext.resources.comparison.rule_logic import TruthTable, atom, decision, holds_without, opposite
from apiext.resources.comparison.shown import shown
from apiext.schema.cel.ast import (
    Call,
    Comprehension,
    Constant,
    Expression,
    Identifier,
    ListLiteral,
    MapLiteral,
    Select,
    StructLiteral,
    children,
    post_order,
)
from apiext.schema.cel.syntax.parser import parse
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.versions import stored_environment
from apiext.schema.model import RULES, Props
from apiext.schema.pruning import META_FIELDS

_CelRule = dict[str, Any]


class _Conditions(NamedTuple):
    """What a rule requires. Expressions that decide the same have equal numbers, as far as that is known."""

    number: int
    """That of the rule."""
    parts: frozenset[frozenset[int]]
    """The operands of `&&`, each with its operands of `||`."""


_MOST_PAIRS: Final = 10_000
"""Pairs of rules or conditions that are compared; of more, only equal ones are found."""
_REPORT: Final = ("message", "messageExpression", "reason", "fieldPath")


def rule_changes(old: Props, new: Props) -> Iterator[UngradedChange]:
    """Yield the changes of the rules of a schema."""
    before, after = ({rule.get("rule") or "": rule for rule in props.get(RULES) or ()} for props in (old, new))
    for text in before.keys() & after.keys():
        yield from _same_text(text, before.pop(text), after.pop(text))
    if before and after:
        yield from _rewritten(before, after)
    for text in after:
        if _is_kept(text, old, new):
            yield UngradedChange("keptRuleAdded", f"rule {shown(text)} was added, which all objects keep")
        else:
            yield UngradedChange("ruleAdded", f"rule {shown(text)} was added")
    yield from (UngradedChange("ruleRemoved", f"rule {shown(text)} was removed") for text in before)


def _is_kept(text: str, old: Props, new: Props) -> bool:
    """Report whether all objects surely satisfy a rule: it is about fields that none has, or says what other keywords said already."""
    expression = _parsed(text)
    return expression is not None and (holds_without(expression, _new_fields(old, new)) or holds_for_all(expression, old, new))


def _new_fields(old: Props, new: Props) -> dict[str, Any]:
    """Return the fields that no object of the old schema has, with their defaults."""
    if other_fields(old) is not OtherFields.DROPPED:
        return {}
    before = {*META_FIELDS, *(old.get("properties") or ())}
    return {name: (child or {}).get("default") for name, child in (new.get("properties") or {}).items() if name not in before}


def _same_text(text: str, old: _CelRule, new: _CelRule) -> Iterator[UngradedChange]:
    before, after = (rule.get("optionalOldSelf") is True for rule in (old, new))
    if before != after:
        # with optionalOldSelf, a rule about the former value is evaluated for new values, too
        name = "ruleNarrowed" if after else "ruleWidened"
        yield UngradedChange(name, f"rule {shown(text)} applies to new values {'now' if after else 'no longer'} (optionalOldSelf)")
    changed = [key for key in _REPORT if (old.get(key) or "") != (new.get(key) or "")]
    if changed:
        key = changed[0]
        what = f"{key} of rule {shown(text)} changed from {shown(old.get(key) or '')} to {shown(new.get(key) or '')}"
        yield UngradedChange("ruleReportChanged", what)


def _rewritten(before: dict[str, _CelRule], after: dict[str, _CelRule]) -> Iterator[UngradedChange]:
    """Yield the changes of rules with another text, and remove these rules."""
    table: dict[Hashable, int] = {}
    conditions = {text: _conditions(text, table) for text in (*before, *after)}
    pairs = [*_with_one_message(before, after)]
    paired = {text for pair in pairs for text in pair}
    for text in after if len(before) * len(after) <= _MOST_PAIRS else ():
        if text in paired:
            continue
        for former in before:
            if former not in paired and _direction(conditions[former], conditions[text]) is not Direction.CHANGED:
                pairs.append((former, text))
                paired |= {former, text}
                break
    for former, text in pairs:
        del before[former], after[text]
        direction = _direction(conditions[former], conditions[text])
        what = f"rule {shown(former)} changed to {shown(text)}"
        yield UngradedChange(_NAMES[direction], what)


_NAMES: Final = {
    Direction.NARROWED: "ruleNarrowed",
    Direction.WIDENED: "ruleWidened",
    Direction.CHANGED: "ruleChanged",
    None: "ruleReportChanged",
}


def _with_one_message(before: dict[str, _CelRule], after: dict[str, _CelRule]) -> Iterator[tuple[str, str]]:
    """Yield the texts of an old and a new rule that have the same message, if no other rule has it."""
    by_message: dict[str, list[list[str]]] = {}
    for side, rules in enumerate((before, after)):
        for text, rule in rules.items():
            message = rule.get("message") or ""
            by_message.setdefault(message, [[], []])[side].append(text)
    for message, (olds, news) in by_message.items():
        if message and len(olds) == len(news) == 1:
            yield olds[0], news[0]


def _direction(old: _Conditions | None, new: _Conditions | None) -> Direction | None:
    """Return how a rule changed; None if it decides the same."""
    if old is None or new is None:
        return Direction.CHANGED
    if old.number == new.number or old.parts == new.parts:
        return None
    if _implies(new.parts, old.parts):
        return Direction.NARROWED
    return Direction.WIDENED if _implies(old.parts, new.parts) else Direction.CHANGED


def _implies(one: frozenset[frozenset[int]], other: frozenset[frozenset[int]]) -> bool:
    """Report whether objects that satisfy one rule satisfy the other, as far as the operands show."""
    if len(one) * len(other) > _MOST_PAIRS:
        return one >= other
    return all(any(disjuncts <= wider for disjuncts in one) for wider in other)


def _conditions(text: str, table: dict[Hashable, int]) -> _Conditions | None:
    """Return the conditions of a rule, None if its text is no expression. The table numbers distinct expressions."""
    expression = _parsed(text)
    if expression is None:
        return None
    numbers: dict[int, int] = {}
    truths: dict[int, TruthTable] = {}
    for node in post_order(expression):
        below = [numbers[id(child)] for child in children(node)]
        found = decision(node, truths)
        if found is None and isinstance(node, Call) and node.function == "_!=_":
            found = opposite(atom(_number((Call, ("_==_", True), *below), table)))
        number = _number((type(node), _own(node), *below) if found is None else (found.atoms, found.results), table)
        numbers[id(node)], truths[id(node)] = number, found or atom(number)
    parts = _operands("_&&_", expression)
    return _Conditions(
        numbers[id(expression)], frozenset(frozenset(numbers[id(node)] for node in _operands("_||_", part)) for part in parts)
    )


def _parsed(text: str) -> Expression | None:
    environment = stored_environment()
    try:
        return parse(text, environment.macros, optional_syntax=environment.optional_syntax)[0]
    except CompileError:
        return None


def _number(shape: Hashable, table: dict[Hashable, int]) -> int:
    return table.setdefault(shape, len(table))


def _operands(function: str, expression: Expression) -> Iterator[Expression]:
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.function == function:
            pending += node.arguments
        else:
            yield node


def _own(node: Expression) -> Hashable:
    """Return what a node has beside its children."""
    match node:
        case Constant():
            return type(node.value), node.value
        case Identifier():
            return node.name
        case Select():
            return node.field, node.test_only
        case Call():
            return node.function, node.target is None
        case ListLiteral():
            return node.optional_indices
        case MapLiteral():
            return tuple(entry.optional for entry in node.entries)
        case StructLiteral():
            return node.type_name, *((field.name, field.optional) for field in node.fields)
        case Comprehension():
            return node.iter_var, node.iter_var2, node.accu_var
