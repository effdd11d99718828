"""The rules of a schema by node (Validator in validation.go)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_INLINE_EXPRESSION_LENGTH, MAX_INLINE_RULE_SCHEMA_BYTES, MAX_SERVER_EXPRESSION_LENGTH
from apiext.base.scheduling.inline_work import Deferred
from apiext.schema.cel.declarations import declare
from apiext.schema.cel.escaping import escape
from apiext.schema.cel.rules.expression import ExpressionCompiler
from apiext.schema.cel.rules.rule import CompiledRule, compile_rule
from apiext.schema.model import RULES
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.correlated import is_keyed_list
from apiext.schema.validation.spec import Spec

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.cel.declarations import Declaration
    from apiext.schema.model import Props, Structural
    from apiext.schema.validation.keywords.constraint import Check

_EMPTY: Final[Props] = {}


@dataclass(frozen=True, slots=True)
class NodeRules:
    """The compiled rules of a schema node."""

    rules: list[CompiledRule]
    uses_old_self: bool
    """Whether a rule refers to the old value."""


class RuleNode:
    """The rules of a schema node and of the nodes below, without nodes that have none. Compiles rules at first use."""

    def __init__(self, schema: Structural, clause: Props, declaration: Declaration | None, with_rules: AbstractSet[int]) -> None:
        """Bind the rules of `clause`, the schema itself or one in its allOf, to the schema's values.

        `with_rules` has the ids of all clauses with rules in or below them.
        """
        self.schema = schema
        self.declaration = declaration
        """Type of the values; None if expressions cannot refer to them."""
        self.type_name: str = schema.raw.get("type") or ""
        self.is_keyed_list = is_keyed_list(schema.raw)
        self.sources: list[Object] = clause.get(RULES) or []
        self._ready: dict[int, CompiledRule] = {}
        self.properties = self._properties(clause, with_rules)
        self.items = self._child(schema.items, clause.get("items"), with_rules)
        self.additional = self._child(schema.additional, clause.get("additionalProperties"), with_rules)
        clauses = clause.get("allOf") or ()
        self.all_of = [RuleNode(schema, nested, declaration, with_rules) for nested in clauses if id(nested) in with_rules]

    @cached_property
    def permits(self) -> Check:
        """Return the check that a value surely satisfies the schema."""
        return compile_check(Spec(self.schema.raw, served=True))

    @cached_property
    def rules(self) -> NodeRules:
        """Return the rules of this node."""
        return self._compiled.get()

    @cached_property
    def _compiled(self) -> Deferred[NodeRules]:
        lengths = [len(rule["rule"]) + len(rule.get("messageExpression") or "") for rule in self.sources]
        is_huge = max(lengths) > MAX_SERVER_EXPRESSION_LENGTH
        return Deferred(self._compile, size=sum(lengths) / MAX_INLINE_EXPRESSION_LENGTH, is_huge=is_huge)

    def _compile(self) -> NodeRules:
        compiled = [] if self.declaration is None else [self._rule(number, self.declaration) for number in range(len(self.sources))]
        self._ready = {}
        return NodeRules(compiled, uses_old_self=any(rule.uses_old_self for rule in compiled))

    def _rule(self, number: int, declaration: Declaration) -> CompiledRule:
        """Return a compiled rule, and keep it: the compilation of all may begin again."""
        ready = self._ready
        if number not in ready:
            rule = compile_rule(self.sources[number], self.schema.raw, ExpressionCompiler(declaration))
            rule.prepare()
            ready[number] = rule
        return ready[number]

    def _child(self, schema: Structural | None, clause: Any, with_rules: AbstractSet[int]) -> RuleNode | None:
        if schema is None or id(clause) not in with_rules:
            return None
        return RuleNode(schema, clause, self.declaration and self.declaration.element, with_rules)

    def _properties(self, clause: Props, with_rules: AbstractSet[int]) -> dict[str, RuleNode]:
        found = {}
        for name, child in (clause.get("properties") or _EMPTY).items():
            if id(child) in with_rules and name in self.schema.properties:
                schema = self.schema.properties[name]
                if escape(name) is None:
                    # rules around the property cannot refer to it, but its own can
                    declaration = declare(schema, resource=schema.embedded)
                else:
                    declaration = self.declaration and member_declaration(self.declaration, name)
                # omit values of unknown types
                if declaration is not None:
                    found[name] = RuleNode(schema, child, declaration, with_rules)
        return found


def member_declaration(parent: Declaration, name: str) -> Declaration | None:
    """Return the type of a property in expressions; None if expressions cannot refer to it."""
    escaped = escape(name)
    member = None if escaped is None else parent.fields.get(escaped)
    return None if member is None else member.declaration


def rule_tree(schema: Structural) -> RuleNode | None:
    """Return the rules of a schema, None if it has none. An embedded schema describes objects with metadata.

    As in the reference, rules in allOf only count if there are others (hasXValidations).
    """
    with_rules: set[int] = set()
    if not _find(schema.raw, with_rules):
        return None
    return RuleNode(schema, schema.raw, declare(schema, resource=schema.embedded), with_rules)


def deferred_rules(schema: Structural) -> Deferred[RuleNode | None]:
    """Return the rules of a schema, collected at first use."""
    return Deferred(lambda: rule_tree(schema), size=len(json_codec.dumps(schema.raw)) / MAX_INLINE_RULE_SCHEMA_BYTES)


def _find(schema: Any, with_rules: set[int]) -> bool:
    """Add the ids of schemas with rules in or below them. Return whether this one is among them, apart from its allOf."""
    if not isinstance(schema, Mapping):
        return False
    children = [*(schema.get("properties") or _EMPTY).values(), schema.get("items"), schema.get("additionalProperties")]
    found = [_find(child, with_rules) for child in children]
    nested = [_find(child, with_rules) for child in schema.get("allOf") or ()]
    own = bool(schema.get(RULES)) or any(found)
    if own or any(nested):
        with_rules.add(id(schema))
    return own
