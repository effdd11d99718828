"""Validation of every node of a schema (ValidateCustomResourceDefinitionOpenAPISchema)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.golang.formatting import trim_space
from apiext.resources.definitions.validation import go_printing
from apiext.resources.definitions.validation.list_types import list_and_map_errors, map_key_errors
from apiext.resources.definitions.validation.schemas import TYPES, has_invalid_type
from apiext.schema.cel.cost.limits import SchemaCosts, cardinality_by_size, child_cardinality
from apiext.schema.cel.declarations import Declaration, declare
from apiext.schema.cel.rules.expression import ExpressionCompiler
from apiext.schema.cel.rules.rule import CompiledRule, StoredExpressions, compile_rule
from apiext.schema.cel.rules.tree import member_declaration
from apiext.schema.field_path import FieldPathError, resolve
from apiext.schema.model import RULES, Structural, unsupported_field
from apiext.schema.validation.correlated import is_keyed_list

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.definitions.validation.options import ValidationOptions
    from apiext.schema.model import Props

_META_FIELDS: Final = ("metadata", "kind", "apiVersion")
JUNCTORS: Final = ("allOf", "oneOf", "anyOf")
UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
UNSUPPORTED_IF_PRESENT: Final = ("$ref", "additionalItems", "dependencies")
"""Unsupported fields that are rejected even if empty or false."""

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAKS: Final = "must not contain line breaks"
_EMPTY: Final = "must be non-empty if specified"


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


def rule_errors(rules: list[Object], node: Props, path: Path) -> list[FieldError]:
    """Return the errors of the rules of one node, except those of their expressions."""
    errors: list[FieldError] = []
    supported = not unsupported_field(node) if any(rule.get("fieldPath") for rule in rules) else True
    for index, rule in enumerate(rules):
        errors += _message_errors(rule, path.index(index))
        errors += _other_errors(rule, node if supported else None, path.index(index))
    return errors


def _message_errors(rule: Object, path: Path) -> list[FieldError]:
    message = rule.get("message", "")
    expression, trimmed_message = trim_space(rule["rule"]), trim_space(message)
    if not expression:
        return [field.required(path.child("rule"), "rule is not specified")]
    if message and not trimmed_message:
        return [field.invalid(path.child("message"), message, _EMPTY)]
    if _has_line_breaks(trimmed_message):
        return [field.invalid(path.child("message"), message, _LINE_BREAKS)]
    if _has_line_breaks(expression) and not trimmed_message:
        return [field.required(path.child("message"), "message must be specified if rule contains line breaks")]
    return []


def _other_errors(rule: Object, node: Props | None, path: Path) -> list[FieldError]:
    """Return the errors of the other members. Without a node, do not resolve paths."""
    errors: list[FieldError] = []
    expression, reason, field_path = rule.get("messageExpression", ""), rule.get("reason"), rule.get("fieldPath", "")
    if expression and not trim_space(expression):
        detail = "messageExpression must be non-empty if specified"
        errors.append(field.required(path.child("messageExpression"), detail))
    if reason is not None and reason not in _REASONS:
        errors.append(field.not_supported(path.child("reason"), field.typed_text(reason), _REASONS))
    problems = []
    if field_path and not trim_space(field_path):
        problems.append(_EMPTY)
    if _has_line_breaks(field_path):
        problems.append(_LINE_BREAKS)
    if field_path and node is not None and not _is_valid_path(field_path, node):
        problems.append("must be a valid path")
    return errors + [field.invalid(path.child("fieldPath"), field_path, problem) for problem in problems]


def _is_valid_path(path: str, node: Props) -> bool:
    try:
        resolve(path, node)
    except FieldPathError:
        return False
    return True


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


@dataclass(frozen=True, slots=True)
class Position:
    """Rules that depend on the position of a node (specStandardValidator)."""

    no_defaults: str | None = None
    """Reason why defaults are forbidden; None if they are allowed."""
    inside_meta: bool = False
    uncorrelated: Path | None = None
    """Path of the outermost schema around the node whose values cannot be correlated with the old object."""
    rules: RuleScope | None = None
    """Scope of the node's rules; None if their expressions are not compiled."""


def openapi_errors(root: Props, path: Path, options: ValidationOptions, rules: RuleScope | None) -> list[FieldError]:
    """Return the errors of a schema, except those of its structure and its defaults.

    `rules` is the scope of the root's rules, None if expressions are not to be compiled.
    """
    validator = _SchemaValidator(options)
    validator.node(root, path, Position(rules=rules), root=True)
    return validator.errors + validator.expression_errors


class _SchemaValidator:
    """Collects the errors of a schema's nodes."""

    __slots__ = ("errors", "expression_errors", "options")

    def __init__(self, options: ValidationOptions) -> None:
        self.options = options
        self.errors: list[FieldError] = []
        self.expression_errors: list[FieldError] = []

    def node(self, node: Props, path: Path, position: Position, *, root: bool = False) -> None:
        """Validate a node and the nodes below it, in the reference's order."""
        known = len(self.errors)
        self._allowed(node, path, position)
        if node.get("uniqueItems"):
            detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.errors.append(field.forbidden(path.child("uniqueItems"), detail))
        self._additional_properties(node, path, position)
        self._properties(node, path, position, root=root)
        for child, child_path, child_position in _other_children(node, path, position):
            self.node(child, child_path, child_position)
        if node.get("x-kubernetes-preserve-unknown-fields") is False:
            preserve_path = path.child("x-kubernetes-preserve-unknown-fields")
            self.errors.append(field.invalid(preserve_path, False, "must be true or undefined"))  # noqa: FBT003
        self.errors += list_and_map_errors(node, path, atomic_sets=self.options.atomic_sets)
        if self.options.map_keys:
            self.errors += map_key_errors(node, path)
        rules = node.get("x-kubernetes-validations")
        if rules:
            rules_path = path.child("x-kubernetes-validations")
            self.errors += rule_errors(rules, node, rules_path)
            # an error here or below would only repeat this one in vaguer words
            if position.rules is not None and len(self.errors) == known:
                self.expression_errors += position.rules.errors(rules, rules_path, position.uncorrelated)

    def _allowed(self, node: Props, path: Path, position: Position) -> None:
        if self.options.valid_types and has_invalid_type(node):
            self.errors.append(field.not_supported(path.child("type"), node["type"], TYPES))
        if node.get("default") is not None and position.no_defaults is not None:
            self.errors.append(field.forbidden(path.child("default"), f"must not be set {position.no_defaults}"))
        for key in UNSUPPORTED:
            if node.get(key) or (key in UNSUPPORTED_IF_PRESENT and node.get(key) is not None):
                self.errors.append(field.forbidden(path.child(key), f"{key} is not supported"))
        if node.get("type") == "null":
            detail = "type cannot be set to null, use nullable as an alternative"
            self.errors.append(field.forbidden(path.child("type"), detail))
        if isinstance(node.get("items"), list):
            self.errors.append(field.forbidden(path.child("items"), "items must be a schema object and not an array"))
        if position.inside_meta and node.get("x-kubernetes-embedded-resource"):
            embedded_path = path.child("x-kubernetes-embedded-resource")
            self.errors.append(field.forbidden(embedded_path, "must not be used inside of resource meta"))

    def _additional_properties(self, node: Props, path: Path, position: Position) -> None:
        additional = node.get("additionalProperties")
        if additional is None:
            return
        additional_path = path.child("additionalProperties")
        if node.get("properties") and additional is not True:
            self.errors.append(field.forbidden(additional_path, "additionalProperties and properties are mutual exclusive"))
        if isinstance(additional, Mapping):
            if position.inside_meta:
                position = replace(position, no_defaults="inside additionalProperties applying to object metadata")
            self.node(additional, additional_path, replace(position, rules=position.rules and position.rules.element(additional)))

    def _properties(self, node: Props, path: Path, position: Position, *, root: bool) -> None:
        properties_path = path.child("properties")
        for name, child in (node.get("properties") or {}).items():
            child_position = replace(position, rules=position.rules and position.rules.property(name, child))
            if name in _META_FIELDS and (root or node.get("x-kubernetes-embedded-resource")):
                no_defaults = f"in top-level {name}" if root else position.no_defaults
                child_position = replace(child_position, no_defaults=no_defaults, inside_meta=True)
            self.node(child, properties_path.key(name), child_position)


def _other_children(node: Props, path: Path, position: Position) -> Iterator[tuple[Props, Path, Position]]:
    """Yield the schemas below a node, except properties and additional ones, with their paths and positions."""
    clause_position = replace(position, rules=None)
    if node.get("not") is not None:
        yield node["not"], path.child("not"), clause_position
    for key in JUNCTORS:
        for index, clause in enumerate(node.get(key) or ()):
            yield clause, path.child(key).index(index), clause_position
    for name, child in (node.get("definitions") or {}).items():
        yield child, path.child("definitions").key(name), clause_position
    items, uncorrelated = node.get("items"), position.uncorrelated
    if uncorrelated is None and not is_keyed_list(node):
        uncorrelated = path
    if isinstance(items, Mapping):
        scope = position.rules and position.rules.element(items)
        yield items, path.child("items"), replace(position, rules=scope, uncorrelated=uncorrelated)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        # such a schema is refused, so its rules are not compiled
        yield item, path.child("items").index(index), clause_position
    for name, dependency in (node.get("dependencies") or {}).items():
        if isinstance(dependency, Mapping):
            yield dependency, path.child("dependencies").key(name), clause_position
