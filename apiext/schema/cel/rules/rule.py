"""A compiled rule of a schema node (compilation.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang.formatting import trim_space
from apiext.schema.cel.rule_compiler import check_message, check_rule
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.field_path import FieldPathError, resolve

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.cel.rules.expression import Expression, ExpressionCompiler
    from apiext.schema.model import Props


@dataclass(frozen=True, slots=True)
class StoredExpressions:
    """Expressions of the definition before an update. They may use everything that any version accepts."""

    rules: frozenset[str] = frozenset()
    messages: frozenset[str] = frozenset()


NO_EXPRESSIONS: Final = StoredExpressions()
"""The expressions before a create: none."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A compiled rule, or the reasons why it cannot run."""

    source: Object
    field_path: str = ""
    """The member for errors, relative to the value; empty for the value itself."""
    expression: Expression | None = None
    """None for an empty rule."""
    message: Expression | None = None
    """The messageExpression."""
    error: str = ""
    message_error: str = ""

    def prepare(self) -> None:
        """Prepare the first evaluation."""
        if self.expression is not None:
            self.expression.prepare()

    @property
    def uses_old_self(self) -> bool:
        """Return whether the rule refers to the old value: it then constrains changes."""
        return self.expression is not None and self.expression.uses_old_self

    @property
    def is_optional(self) -> bool:
        """Return whether oldSelf is an optional value."""
        return self.source.get("optionalOldSelf") is True

    @property
    def reason(self) -> str:
        """Return the type of the rule's errors; empty if it sets none."""
        return self.source.get("reason") or ""

    @property
    def text(self) -> str:
        """Return the message, or else the rule, for errors about the rule."""
        return trim_space(self.source.get("message") or self.source["rule"])

    @property
    def default_message(self) -> str:
        """Return the message about a violation without a messageExpression."""
        return self.text if self.source.get("message") else f"failed rule: {self.text}"


def compile_rule(rule: Object, schema: Props, compiler: ExpressionCompiler, stored: StoredExpressions | None = None) -> CompiledRule:
    """Compile a rule of a schema. `stored` has the expressions that are not new; None means all."""
    source, message_source, optional = rule["rule"], rule.get("messageExpression") or "", rule.get("optionalOldSelf") is True
    if not trim_space(source):
        return CompiledRule(rule)
    try:
        known = stored is None or source in stored.rules
        expression = compiler.compile(source, check_rule, stored=known, optional=optional)
    except CompileError as error:
        return CompiledRule(rule, error=str(error))
    message = None
    if message_source:
        try:
            known = stored is None or message_source in stored.messages
            message = compiler.compile(message_source, check_message, stored=known, optional=optional)
        except CompileError as error:
            return CompiledRule(rule, expression=expression, message_error=str(error))
    return CompiledRule(rule, _field_path(rule.get("fieldPath") or "", schema), expression, message)


def _field_path(path: str, schema: Props) -> str:
    if not path:
        return ""
    try:
        steps, _ = resolve(path, schema)
    except FieldPathError:
        return ""
    return "".join(steps).removeprefix(".")
