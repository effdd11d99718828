"""Changes of CEL rules (x-kubernetes-validations). A rule is identified by its text, then by its message, then by its conditions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from apiext.resources.comparison.change import Direction, UngradedChange
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

_CelRule = dict[str, Any]
_Conditions = frozenset[frozenset[int]]
"""The operands of `&&` in a rule, each with its operands of `||`. Equal expressions have equal numbers."""
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
    yield from (UngradedChange("ruleAdded", f"rule {shown(text)} was added") for text in after)
    yield from (UngradedChange("ruleRemoved", f"rule {shown(text)} was removed") for text in before)


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
    """Return how a rule changed; None if only the layout of its text did."""
    if old is None or new is None:
        return Direction.CHANGED
    if old == new:
        return None
    if _implies(new, old):
        return Direction.NARROWED
    return Direction.WIDENED if _implies(old, new) else Direction.CHANGED


def _implies(one: _Conditions, other: _Conditions) -> bool:
    """Report whether objects that satisfy one rule satisfy the other, as far as the operands show."""
    if len(one) * len(other) > _MOST_PAIRS:
        return one >= other
    return all(any(disjuncts <= wider for disjuncts in one) for wider in other)


def _conditions(text: str, table: dict[Hashable, int]) -> _Conditions | None:
    """Return the conditions of a rule, None if its text is no expression. The table numbers distinct expressions."""
    environment = stored_environment()
    try:
        expression, _ = parse(text, environment.macros, optional_syntax=environment.optional_syntax)
    except CompileError:
        return None
    numbers: dict[int, int] = {}
    for node in post_order(expression):
        shape = type(node), _own(node), *(numbers[id(child)] for child in children(node))
        numbers[id(node)] = table.setdefault(shape, len(table))
    parts = _operands("_&&_", expression)
    return frozenset(frozenset(numbers[id(node)] for node in _operands("_||_", part)) for part in parts)


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
