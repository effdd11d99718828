"""Expressions of rules: type-checked, with estimated costs, and compiled to programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from apiext.base.meta.limits import MAX_INLINE_EXPRESSION_LENGTH
from apiext.base.scheduling.inline_work import current_work
from apiext.schema.cel.cost.estimator import estimate_cost
from apiext.schema.cel.cost.worst_case import declared_sizes, worst_case
from apiext.schema.cel.declarations import DeclaredTypes
from apiext.schema.cel.program import Program, compile_program
from apiext.schema.cel.rule_compiler import rule_environment, uses_old_self
from apiext.schema.cel.values.json_conversion import Shape
from apiext.schema.cel.versions import new_environment, stored_environment

if TYPE_CHECKING:
    from apiext.schema.cel.ast import CheckedAst
    from apiext.schema.cel.declarations import Declaration
    from apiext.schema.cel.environment import Environment

MAX_UNCOUNTED_COST: Final = 1_000
"""Greatest worst case, in cost units, of an expression that runs without counting costs."""
Check = Callable[[str, "Environment"], "CheckedAst"]


@dataclass(frozen=True)
class Expression:
    """A compiled expression about a value and the old value."""

    checked: CheckedAst
    declaration: Declaration
    """Type of the values."""
    functions: Mapping[str, Sequence[object]]
    program: Program

    @cached_property
    def estimated_cost(self) -> int:
        """Return the maximum cost of an evaluation in cost units, by the reference's estimate."""
        return estimate_cost(self.checked, declared_sizes(self.declaration)).max

    @cached_property
    def worst_case(self) -> int:
        """Return the maximum cost of an evaluation in cost units, for values within the schema's limits."""
        return worst_case(self.checked, self.declaration)

    @property
    def is_counted(self) -> bool:
        """Return whether each evaluation counts its costs."""
        return self.worst_case > MAX_UNCOUNTED_COST

    def prepare(self) -> None:
        """Generate the code for an evaluation."""
        self.program.prepare(counting=self.is_counted)

    @cached_property
    def uses_old_self(self) -> bool:
        """Return whether the expression refers to the old value."""
        return uses_old_self(self.checked)

    @cached_property
    def without_old(self) -> Expression:
        """Return the expression for a value alone. It fails where it refers to the old value."""
        program = compile_program(self.checked, {"self": Shape(self.declaration.schema)}, self.functions)
        return replace(self, program=program)

    @cached_property
    def with_plain_old(self) -> Expression:
        """Return the expression for an old value that is not optional, after it was checked for an optional one."""
        shape = Shape(self.declaration.schema)
        return replace(self, program=compile_program(self.checked, {"self": shape, "oldSelf": shape}, self.functions))


class ExpressionCompiler:
    """Compiles the expressions about one node of a schema."""

    def __init__(self, declaration: Declaration) -> None:
        self._declaration = declaration
        self._types = DeclaredTypes(declaration)
        self._environments: dict[tuple[bool, bool], Environment] = {}

    def compile(self, source: str, check: Check, *, stored: bool, optional: bool) -> Expression:
        """Compile an expression. `stored`: it is not new. `optional`: the old value is optional.

        Raises:
            CompileError: the expression is invalid; the text is the reference's.
        """
        environment = self._environment(stored=stored, optional=optional)

        def compile_now(text: str) -> Expression:
            checked = check(text, environment)
            shape = Shape(self._declaration.schema)
            variables = {"self": shape, "oldSelf": Shape(shape.schema, optional=True) if optional else shape}
            program = compile_program(checked, variables, environment.functions)
            return Expression(checked, self._declaration, environment.functions, program)

        work = current_work()
        work.check_size(len(source), MAX_INLINE_EXPRESSION_LENGTH)
        return work.run(compile_now, source)

    def _environment(self, *, stored: bool, optional: bool) -> Environment:
        if (stored, optional) not in self._environments:
            base = stored_environment() if stored else new_environment()
            self._environments[stored, optional] = rule_environment(base, self._types, optional_old_self=optional)
        return self._environments[stored, optional]
