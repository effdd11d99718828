"""Checks and compiles the expressions of a webhook or policy (compile.go and composition.go of apiserver pkg/admission/plugin/cel)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from apiext.schema.cel.ast import CheckedAst, Expression, Select, post_order
from apiext.schema.cel.checking.program_validation import program_fault
from apiext.schema.cel.policies.environments import AUTHORIZER_NAME, REQUEST_RESOURCE, Declarations, admission_environment
from apiext.schema.cel.policies.object_types import JSON_PATCH_TYPE, OBJECT_TYPE, variable_type
from apiext.schema.cel.program import Program, compile_program
from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.types import BOOL, DYN, NULL, STRING, TIMESTAMP, CelType, list_of

if TYPE_CHECKING:
    from apiext.schema.cel.environment import Environment

CONDITION: Final = (BOOL,)
"""Types of the results of match conditions and validations."""
MESSAGE: Final = (STRING,)
"""Type of the results of messageExpression."""
ANNOTATION: Final = (STRING, NULL)
"""Types of the results of an audit annotation's valueExpression."""
ANY: Final[tuple[CelType, ...]] = ()
"""Any type, for variables."""
APPLY_CONFIGURATION: Final = (OBJECT_TYPE,)
JSON_PATCHES: Final = (list_of(JSON_PATCH_TYPE),)

_AUTHORIZERS: Final = (AUTHORIZER_NAME, REQUEST_RESOURCE)


class InvalidExpressionError(CompileError):
    """An expression is not valid. The text is the reference's detail."""

    def __init__(self, detail: str, *, is_internal: bool = False) -> None:
        """Set the detail. `is_internal`: the reference reports an internal error (field.InternalError) instead of an invalid value."""
        super().__init__(detail)
        self.is_internal = is_internal


@dataclass(frozen=True)
class CompiledExpression:
    """An expression with its program, or the reason why it has none."""

    source: str
    uses: tuple[str, ...] = ()
    """Names of the variables that the program gets, in their order."""
    program: Program | None = None
    root: Expression | None = None
    """The syntax tree."""
    error: str = ""
    """The detail of an InvalidExpressionError."""

    @cached_property
    def without_authorizer(self) -> CompiledExpression:
        """Return the expression for evaluations without `authorizer`: it fails where it refers to it."""
        uses = tuple(name for name in self.uses if name not in _AUTHORIZERS)
        if self.program is None or uses == self.uses:
            return self
        return replace(self, uses=uses, program=self.program.with_variables(uses))


class PolicyCompiler:
    """Compiles the expressions of one policy, or of any number of webhooks."""

    def __init__(self, *, composed: bool = False) -> None:
        """Begin without variables. `composed`: there is the name `variables`, even if no variable is added."""
        self._types: dict[str, CelType] | None = {} if composed else None
        self._environments: dict[tuple[Declarations, bool], Environment] = {}
        self.variables: dict[str, CompiledExpression] = {}
        """The compiled variables."""

    def check(self, source: str, returns: tuple[CelType, ...], declarations: Declarations, *, stored: bool = False) -> CheckedAst:
        """Return the checked form of an expression. `stored`: it is not new.

        Raises:
            InvalidExpressionError: It is not valid in this environment, or its result has none of these types.
        """
        environment = self._environment(declarations, stored=stored)
        try:
            checked = compile_expression(source, environment)
        except CompileError as error:
            raise InvalidExpressionError(f"compilation failed: {error}") from None
        result = checked.types[checked.expression.id]
        if returns and result not in returns:
            one_of = returns[0] if len(returns) == 1 else f"one of [{' '.join(map(str, returns))}]"
            raise InvalidExpressionError(f"must evaluate to {one_of} but got {result}")
        fault = program_fault(checked, environment)
        if fault is not None:
            raise InvalidExpressionError(f"program instantiation failed: {fault}", is_internal=True)
        return checked

    def compile(self, source: str, returns: tuple[CelType, ...], declarations: Declarations, *, stored: bool = True) -> CompiledExpression:
        """Return a compiled expression. One that is not valid has an error instead of a program."""
        try:
            checked = self.check(source, returns, declarations, stored=stored)
        except InvalidExpressionError as error:
            return CompiledExpression(source, error=str(error))
        return self._compiled(source, checked, declarations, stored=stored)

    def add_variable(self, name: str, source: str, declarations: Declarations, *, stored: bool = False) -> None:
        """Check a variable, which later expressions may refer to even if it is not valid; its type is dyn then.

        Raises:
            InvalidExpressionError: It is not valid.
        """
        if self._types is None:
            raise InvalidExpressionError("variable composition is not allowed", is_internal=True)
        try:
            checked = self.check(source, ANY, declarations, stored=stored)
        except InvalidExpressionError as error:
            self._types[name] = DYN
            self.variables[name] = CompiledExpression(source, error=str(error))
            raise
        self._types[name] = variable_type(checked.types[checked.expression.id])
        self.variables[name] = self._compiled(source, checked, declarations, stored=stored)

    def compile_variables(self, variables: Mapping[str, str], declarations: Declarations) -> None:
        """Add stored variables in their order. Those that are not valid fail when they are evaluated."""
        for name, source in variables.items():
            try:
                self.add_variable(name, source, declarations, stored=True)
            except InvalidExpressionError:
                continue

    def _compiled(self, source: str, checked: CheckedAst, declarations: Declarations, *, stored: bool) -> CompiledExpression:
        environment = self._environment(declarations, stored=stored)
        names = {name.removeprefix(".") for node, name in checked.names.items() if checked.types[node].name != "type"}
        uses = tuple(sorted(names & environment.identifiers.keys()))
        program = compile_program(_without_times(checked), dict.fromkeys(uses), environment.functions)
        return CompiledExpression(source, uses, program, checked.expression)

    def _environment(self, declarations: Declarations, *, stored: bool) -> Environment:
        key = (declarations, stored)
        if key not in self._environments:
            self._environments[key] = admission_environment(declarations, self._types, stored=stored)
        return self._environments[key]


def _without_times(checked: CheckedAst) -> CheckedAst:
    """Return an expression for values in which declared times are texts: only the type checker takes fields of a namespace for times."""
    times = [node.id for node in post_order(checked.expression) if isinstance(node, Select) and checked.types[node.id] == TIMESTAMP]
    return replace(checked, types={**checked.types, **dict.fromkeys(times, DYN)}) if times else checked
