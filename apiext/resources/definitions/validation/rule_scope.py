"""Scopes of the rules of a schema's nodes, and the errors of their expressions (CELSchemaContext in cel_validation.go)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from apiext.base.meta import field
from apiext.resources.definitions.validation import go_printing
from apiext.schema.cel.cost.limits import SchemaCosts, cardinality_by_size, child_cardinality
from apiext.schema.cel.declarations import Declaration, declare
from apiext.schema.cel.rules.expression import ExpressionCompiler
from apiext.schema.cel.rules.rule import CompiledRule, StoredExpressions, compile_rule
from apiext.schema.cel.rules.tree import member_declaration
from apiext.schema.model import RULES, Structural

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.schema.model import Props


def root_scope(root: Props, costs: SchemaCosts, stored: StoredExpressions) -> RuleScope:
    """Return the scope of the rules at the root of a schema. All scopes add their costs to `costs`."""
    return RuleScope(root, None, 1, bool(root.get(RULES)), _Shared(costs, stored))


@dataclass(frozen=True, slots=True)
class _Shared:
    """State that the scopes of a schema share."""

    costs: SchemaCosts
    stored: StoredExpressions


@dataclass(frozen=True)
class RuleScope:
    """A schema node and its position."""

    schema: Props
    parent: tuple[RuleScope, Callable[[Declaration], Declaration | None]] | None
    """The scope around this one, and a function from its type to this one's; None at the root."""
    cardinality: int | None
    """Greatest number of the node's values in an object; None for no limit."""
    has_rules: bool
    """Whether this node or one around it has rules."""
    shared: _Shared

    def property(self, name: str, schema: Props) -> RuleScope:
        """Return the scope of a property."""
        return self._child(schema, lambda declaration: member_declaration(declaration, name))

    def element(self, schema: Props) -> RuleScope:
        """Return the scope of items, or of additional properties."""
        return self._child(schema, lambda declaration: declaration.element)

    def _child(self, schema: Props, derive: Callable[[Declaration], Declaration | None]) -> RuleScope:
        has_rules = self.has_rules or bool(schema.get(RULES))
        return RuleScope(schema, (self, derive), child_cardinality(self.cardinality, self.schema), has_rules, self.shared)

    @cached_property
    def declaration(self) -> Declaration | None:
        """Return the type of the node's values. If rules around it refer to it too, it is a part of the outer type."""
        if self.parent is not None and self.parent[0].has_rules:
            scope, derive = self.parent
            around = scope.declaration
            declaration = None if around is None else derive(around)
            if around is None or declaration is not None:
                return declaration
        schema = Structural(self.schema)
        return declare(schema, resource=self.parent is None or schema.embedded)

    def errors(self, rules: list[Object], path: Path, uncorrelated: Path | None) -> list[FieldError]:
        """Return the errors of the expressions of the node's rules.

        Values inside `uncorrelated` cannot be correlated with the old object.
        """
        if self.declaration is None:
            problem = "unable to convert structural schema to CEL declarations"
            detail = f"internal error: failed to construct type information for x-kubernetes-validations rules: {problem}"
            return [field.internal(path, detail)]
        compiler = ExpressionCompiler(self.declaration)
        errors: list[FieldError] = []
        for index, rule in enumerate(rules):
            compiled = compile_rule(rule, self.schema, compiler, self.shared.stored)
            errors += self._cost_errors(compiled, path.index(index))
            errors += _expression_errors(compiled, path.index(index), uncorrelated)
        return errors

    def _cost_errors(self, rule: CompiledRule, path: Path) -> list[FieldError]:
        costs, errors = self.shared.costs, []
        if rule.expression is not None and self.declaration is not None:
            cardinality = self.cardinality
            if cardinality is None:
                cardinality = cardinality_by_size(self.declaration.min_size)
            errors += costs.add_rule(path, rule.expression.estimated_cost, cardinality)
        if rule.message is not None:
            errors += costs.add_message(path, rule.message.estimated_cost)
        return errors


def _expression_errors(rule: CompiledRule, path: Path, uncorrelated: Path | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if rule.error:
        errors.append(field.invalid(path.child("rule"), go_printing.rule(rule.source), rule.error))
    if rule.message_error:
        errors.append(field.invalid(path.child("messageExpression"), go_printing.rule(rule.source), rule.message_error))
    optional = rule.source.get("optionalOldSelf")
    if rule.uses_old_self:
        if uncorrelated is not None:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            errors.append(field.invalid(path.child("rule"), rule.source["rule"], detail))
    elif optional is not None:
        errors.append(field.invalid(path.child("optionalOldSelf"), optional, "may not be set if oldSelf is not used in rule"))
    return errors
