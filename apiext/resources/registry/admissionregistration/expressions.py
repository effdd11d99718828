"""Checks the expressions of webhooks and policies.

Match conditions: kubernetes pkg/apis/admissionregistration/validation, validateMatchConditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang.formatting import trim_space
from apiext.base.scheduling.inline_work import current_work

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from apiext.base.meta.encoding.json_codec import Object
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


_MAX_CONDITIONS: Final = 64


def match_condition_errors(
    conditions: Sequence[Object], path: Path, *, stored: Collection[str] = (), params: bool = False
) -> list[FieldError]:
    """Return the errors of match conditions. `stored` are expressions of the stored object."""
    problems: list[FieldError] = []
    if len(conditions) > _MAX_CONDITIONS:
        problems.append(field.too_many(path, len(conditions), _MAX_CONDITIONS))
    expressions: ExpressionChecks | None = None
    known: set[str] = set()
    for index, condition in enumerate(conditions):
        name, source, here = condition["name"], trim_space(condition["expression"]), path.index(index)
        if source:
            expressions = expressions or ExpressionChecks(params=params)
            problems += expressions.condition(PlacedExpression(source, here.child("expression"), source in stored))
        else:
            problems.append(field.required(here.child("expression")))
        problems += _name_errors(name, here.child("name"))
        if name and name in known:
            problems.append(field.duplicate(here.child("name"), name))
        known.add(name)
    return problems


def _name_errors(name: str, path: Path) -> list[FieldError]:
    return [field.invalid(path, name, message) for message in names.label_key(name)] if name else [field.required(path)]
