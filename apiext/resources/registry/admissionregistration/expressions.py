"""Checks the expressions of webhooks and policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.base.meta import field
from apiext.base.scheduling.inline_work import current_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.field import FieldError, Path
    from apiext.schema.cel.policies.compiler import PolicyCompiler
    from apiext.schema.cel.policies.environments import Declarations


@dataclass(frozen=True, slots=True)
class PlacedExpression:
    """An expression and its place."""

    source: str
    path: Path
    stored: bool = False
    """Whether the stored object has it too, so that it may use everything that any version accepts."""
    shown: str | None = None
    """What an error shows, if that is not the source."""


class ExpressionChecks:
    """Checks expressions that may refer to the same variables. Large ones need a worker process.

    Each method returns the errors of an expression.
    """

    def __init__(self, *, params: bool, composed: bool = False) -> None:
        """Begin without variables. `params`: expressions may use params. `composed`: they may use variables."""
        # imported with the first expression: the modules take long to import
        from apiext.schema.cel.policies import compiler, environments

        self._types = compiler
        self._compiler: PolicyCompiler = compiler.PolicyCompiler(composed=composed)
        self._declarations: Callable[..., Declarations] = environments.Declarations
        self._params = params

    def condition(self, expression: PlacedExpression) -> list[FieldError]:
        """Check an expression that returns a bool."""
        return self._check(expression, self._types.CONDITION)

    def message(self, expression: PlacedExpression) -> list[FieldError]:
        """Check a message expression, which has no authorizer."""
        return self._check(expression, self._types.MESSAGE, authorizer=False)

    def annotation(self, expression: PlacedExpression) -> list[FieldError]:
        """Check the value of an audit annotation."""
        return self._check(expression, self._types.ANNOTATION)

    def apply_configuration(self, expression: PlacedExpression) -> list[FieldError]:
        """Check a mutation by an apply configuration."""
        return self._check(expression, self._types.APPLY_CONFIGURATION, patches=True)

    def json_patch(self, expression: PlacedExpression) -> list[FieldError]:
        """Check a mutation by a JSON patch."""
        return self._check(expression, self._types.JSON_PATCHES, patches=True)

    def variable(self, name: str, expression: PlacedExpression) -> list[FieldError]:
        """Check a variable, and let later expressions use it."""
        declarations = self._declarations(params=self._params)
        return self._errors(
            expression, lambda: self._compiler.add_variable(name, expression.source, declarations, stored=expression.stored)
        )

    def _check(self, expression: PlacedExpression, returns: Any, *, authorizer: bool = True, patches: bool = False) -> list[FieldError]:
        declarations = self._declarations(params=self._params, authorizer=authorizer, patches=patches)
        return self._errors(expression, lambda: self._compiler.check(expression.source, returns, declarations, stored=expression.stored))

    def _errors(self, expression: PlacedExpression, check: Callable[[], object]) -> list[FieldError]:
        try:
            current_work().run(lambda _: check(), None)
        except self._types.InvalidExpressionError as error:
            if error.is_internal:
                return [field.internal(expression.path, str(error))]
            shown = expression.source if expression.shown is None else expression.shown
            return [field.invalid(expression.path, shown, str(error))]
        return []
