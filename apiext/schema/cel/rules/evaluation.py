"""Evaluates the rules of a schema over an object (Validator.validate in validation.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from apiext.base.meta.field import OMITTED, FieldError, duplicate, forbidden, invalid, required
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_ERROR_CHARACTERS, MAX_VIOLATIONS
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, BudgetError, CelError
from apiext.schema.cel.rules.budget import MAX_OBJECT_COST, Budget, InexactError, SpentError
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, OptionalValue
from apiext.schema.field_path import Location, MapKey, path_of
from apiext.schema.validation.correlated import Correlated, KeyedItems

if TYPE_CHECKING:
    from apiext.schema.cel.rules.expression import Expression
    from apiext.schema.cel.rules.rule import CompiledRule
    from apiext.schema.cel.rules.tree import RuleNode

_Clause = tuple[Location] | None
_COMPOSITE: Final = ("object", "array")
_NO_TYPE: Final = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"

_TYPE_META: Final = frozenset({"apiVersion", "kind"})


_MAX_BYTES: Final = 5 * 1024
"""UTF-8 bytes of an evaluated message. Part of the API."""
_MESSAGE_SPENT: Final = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
_CALL_LIMIT: Final = "no further validation rules will be run due to call cost exceeds limit for messageExpression"


class CostlyMessageError(Exception):
    """The evaluation of a message cost too much. No further rule runs. The text is the error's detail."""


def failure_message(rule: CompiledRule, value: Any, old: Any, budget: Budget) -> str:
    """Return the message about a violated rule.

    Raises:
        CostlyMessageError: its evaluation exceeds the cost limit.
        InexactError: the costs must be counted.
    """
    if rule.message is not None:
        try:
            if rule.message.uses_old_self and old is None:
                text = budget.run(rule.message.without_old, value)
            else:
                # as in the reference, a message never sees an optional value
                text = budget.run(rule.message.with_plain_old if rule.is_optional else rule.message, value, old)
        except CelError:
            return rule.default_message
        except SpentError:
            raise CostlyMessageError(_MESSAGE_SPENT) from None
        except BudgetError:
            raise CostlyMessageError(f"{_CALL_LIMIT}: {formatting.quote(rule.source['messageExpression'])}") from None
        if isinstance(text, str):
            text = formatting.trim_space(text)
            if text and "\n" not in text and len(text.encode()) <= _MAX_BYTES:
                return text
    return rule.default_message


def is_unchanged(root: Correlated, location: Location, *, nested: bool = False) -> bool:
    """Return whether the value at a location is unchanged. If it has no old counterpart, use the nearest value around it that has one.

    With `nested`, for schemas inside allOf, ignore the value's own counterpart.
    """
    current: Correlated | None = root
    nearest: Correlated | None = None
    for step in _steps(location):
        if current is None:
            break
        if nearest is None and step in _TYPE_META:
            # kind and apiVersion are never ratcheted
            return False
        nearest, current = current, current.key(step) if isinstance(step, str) else current.index(step)
    if nested or current is None:
        current = nearest
    return current is not None and current.equal


def _steps(location: Location) -> list[str | int]:
    steps: list[str | int] = []
    while location is not None:
        location, step = location
        steps.append(step)
    return steps[::-1]


@dataclass(slots=True)
class RuleResult:
    """The violated rules of an object."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """Violated rules about values that an update leaves unchanged."""
    size: int = 0
    """Approximate characters of both."""
    left: int = -1
    """The remaining budget; negative if not all rules were evaluated."""
    spent: int = 0
    """The used part of the budget, also if not all rules were evaluated."""
    largest: int = 0
    """The cost of the most expensive evaluation, of those whose costs were counted."""


class RulePath:
    """The path of a value, or of a rule's member, converted to text on demand."""

    __slots__ = ("_member", "_place")

    def __init__(self, place: Location, member: str = "") -> None:
        self._place = place
        self._member = member

    def __str__(self) -> str:
        path = path_of(self._place)
        return f"{path}.{self._member}" if path and self._member else path or self._member or "<nil>"


def evaluate(
    root: RuleNode,
    value: Any,
    old: Any,
    *,
    limit: int = MAX_OBJECT_COST,
    is_valid: bool = True,
    exact: bool = False,
    base: str | None = None,
    correlated: Correlated | None = None,
) -> RuleResult:
    """Return the rules that a value violates.

    `limit` is the cost limit of all evaluations together. `is_valid`: the value surely satisfies the schema. If not, types are
    checked and all costs counted. `exact` counts all costs, too.
    `base` is the path of the value, None for a whole object. `correlated` turns failures about unchanged values into warnings
    (ratcheting).
    """
    budget = Budget(limit, exact=exact or not is_valid)
    evaluation = _Evaluation(budget, correlated, is_valid=is_valid)
    try:
        evaluation.visit(root, value, old, None if base is None else (None, base), None)
    except InexactError:
        return evaluate(root, value, old, limit=limit, is_valid=is_valid, exact=True, base=base, correlated=correlated)
    except _EndedError:
        pass
    else:
        evaluation.result.left = budget.left
    evaluation.result.spent, evaluation.result.largest = limit - budget.left, budget.largest
    return evaluation.result


class _EndedError(Exception):
    """The evaluation has ended: no further rule runs."""


class _Evaluation:
    """One walk through an object."""

    __slots__ = ("_budget", "_correlated", "_is_valid", "result")

    def __init__(self, budget: Budget, correlated: Correlated | None, *, is_valid: bool) -> None:
        self.result = RuleResult()
        self._is_valid = is_valid
        self._budget = budget
        self._correlated = correlated

    def visit(self, node: RuleNode, value: Any, old: Any, place: Location, clause: _Clause) -> None:
        """Evaluate the rules of a value and of the values in it. `clause` is the location of the outermost allOf around the node.

        Raises:
            _EndedError: there are enough errors, or the budget is used up.
            InexactError: the costs must be counted.
        """
        if value is None:
            return
        if node.sources:
            self._evaluate_rules(node, value, old, place, clause)
        for nested in node.all_of:
            self.visit(nested, value, old, place, clause or (place,))
        if type(value) is dict:
            self._visit_members(node, value, old if type(old) is dict else {}, place, clause)
        elif type(value) is list and node.items is not None:
            keyed = KeyedItems(old, node.schema.raw) if node.is_keyed_list and type(old) is list else None
            for index, item in enumerate(value):
                self.visit(node.items, item, None if keyed is None else keyed.get(item), (place, index), clause)

    def _visit_members(self, node: RuleNode, value: dict[str, Any], old: dict[str, Any], place: Location, clause: _Clause) -> None:
        if node.additional is not None:
            for name, member in value.items():
                self.visit(node.additional, member, old.get(name), (place, MapKey(name)), clause)
        for name, child in node.properties.items():
            if name in value:
                self.visit(child, value[name], old.get(name), (place, name), clause)

    def _evaluate_rules(self, node: RuleNode, value: Any, old: Any, place: Location, clause: _Clause) -> None:
        if node.declaration is None:
            self._report(node, place, _NO_TYPE)
            return
        try:
            self._budget.require_some()
        except SpentError:
            self._end(node, place, _SPENT)
        compiled = node.rules
        # an old value may be from before a change of the schema
        self._budget.strict = not self._is_valid or (compiled.uses_old_self and old is not None and not node.permits(old))
        for rule in compiled.rules:
            if rule.error:
                self._report(node, place, f"rule compile error: {rule.error}")
            if rule.expression is None or (rule.uses_old_self and old is None and not rule.is_optional):
                continue
            if not self._holds(node, rule, rule.expression, value, old, place):
                ratchets = not rule.uses_old_self and self._is_unchanged(place, clause)
                # as in the reference, only messages of rules that use the old value see it
                self._report_failure(node, rule, value, old if compiled.uses_old_self else None, place, ratchets=ratchets)

    def _is_unchanged(self, place: Location, clause: _Clause) -> bool:
        if self._correlated is None:
            return False
        return is_unchanged(self._correlated, clause[0] if clause else place, nested=clause is not None)

    def _holds(self, node: RuleNode, rule: CompiledRule, expression: Expression, value: Any, old: Any, place: Location) -> bool:
        """Return whether a rule holds. Report an evaluation error here and return True."""
        previous = old
        if rule.is_optional:
            previous = OPTIONAL_NONE if old is None else OptionalValue(old)
        try:
            return self._budget.run(expression, value, previous) is True
        except CelError as error:
            self._report(node, place, _evaluation_detail(str(error), rule.text))
        except SpentError:
            self._end(node, place, _SPENT)
        except BudgetError as error:
            self._end(
                node, place, f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"
            )
        return True

    def _report_failure(self, node: RuleNode, rule: CompiledRule, value: Any, old: Any, place: Location, *, ratchets: bool) -> None:
        path = RulePath(place, rule.field_path)
        try:
            detail = failure_message(rule, value, old, self._budget)
        except CostlyMessageError as error:
            self._add(invalid(path, node.type_name, str(error)), ratchets=ratchets)
            raise _EndedError from None
        shown = OMITTED if node.type_name in _COMPOSITE else value
        if rule.reason == "FieldValueForbidden":
            failure = forbidden(path, detail)
        elif rule.reason == "FieldValueRequired":
            failure = required(path, detail)
        elif rule.reason == "FieldValueDuplicate":
            failure = duplicate(path, shown)
        else:
            failure = invalid(path, shown, detail)
        self._add(failure, ratchets=ratchets)

    def _report(self, node: RuleNode, place: Location, detail: str) -> None:
        self._add(invalid(RulePath(place), node.type_name, detail), ratchets=False)

    def _end(self, node: RuleNode, place: Location, detail: str) -> NoReturn:
        self._report(node, place, detail)
        raise _EndedError

    def _add(self, error: FieldError, *, ratchets: bool) -> None:
        result = self.result
        if ratchets:
            if result.size < MAX_ERROR_CHARACTERS:
                warning = str(error)
                result.warnings.append(warning)
                result.size += len(warning)
            return
        result.errors.append(error)
        result.size += len(error.detail)
        if len(result.errors) >= MAX_VIOLATIONS or result.size >= MAX_ERROR_CHARACTERS:
            raise _EndedError


def _evaluation_detail(error: str, rule: str) -> str:
    if error.startswith(NO_SUCH_OVERLOAD):
        return f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
    return f"{error} evaluating rule: {rule}"
