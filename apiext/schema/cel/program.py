"""Programs: executable expressions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.compiler.folding import fold
from apiext.schema.cel.compiler.nodes import compile_functions
from apiext.schema.cel.compiler.selections import type_of_shape
from apiext.schema.cel.errors import CALL_COST_EXCEEDED, NO_SUCH_OVERLOAD, BudgetError, CelError
from apiext.schema.cel.types import DYN
from apiext.schema.cel.values.json_conversion import Shape

_FILE: Final = "<CEL>"
_MISMATCHES: Final = (TypeError, AttributeError, LookupError, ValueError)
"""Errors of Python's operators for a value with another type than the schema's, such as a map for a list."""

_Evaluate = Callable[..., Any]


_LIMIT: Final = 50_000
"""Frames. Python functions that call each other use heap memory, not the process's stack.

The parser admits 1,250 levels, and a pass has up to ten frames for a level.
"""
_lock: Final = threading.Lock()
_before: Final[list[int]] = []
"""The recursion limit that each open context found when it began. The process has one limit: the last context to end sets the first of
these again.
"""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let recursive functions over a syntax tree go as deep as the parser allows. They must not call each other through C code."""
    with _lock:
        _before.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_before[-1], _LIMIT))
    try:
        yield
    finally:
        with _lock:
            limit = _before.pop()
            if not _before:
                sys.setrecursionlimit(limit)


class CostMeter:
    """The cost units that an evaluation has used, and their limit."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int) -> None:
        self.cost = 0
        self.limit = limit


class Program:
    """An expression as Python functions, generated at first use."""

    __slots__ = ("_checked", "_constants", "_counted", "_functions", "_plain", "_strict", "_variables")

    def __init__(
        self,
        checked: CheckedAst,
        variables: Mapping[str, Shape | None],
        functions: Mapping[str, Sequence[object]],
        constants: Mapping[int, object],
    ) -> None:
        self._checked = checked
        self._variables = variables
        self._functions = functions
        self._constants = constants
        self._plain: _Evaluate | None = None
        self._counted: _Evaluate | None = None
        self._strict: Program | None = None

    @property
    def strict(self) -> Program:
        """Return the program for JSON whose types may differ from those of the schema: it checks what it reads."""
        if self._strict is None:
            variables = {name: shape and replace(shape, strict=True) for name, shape in self._variables.items()}
            self._strict = Program(self._checked, variables, self._functions, self._constants)
        return self._strict

    def with_variables(self, names: Sequence[str]) -> Program:
        """Return the program for fewer variables."""
        return Program(self._checked, {name: self._variables[name] for name in names}, self._functions, self._constants)

    def evaluate(self, *values: object) -> Any:
        """Return the value of the expression for its variables' values. Do not count costs.

        Raises:
            CelError: The evaluation fails.
        """
        evaluate = self._plain or self._prepared_plain()
        try:
            return evaluate(None, {}, *values)
        except _MISMATCHES:
            raise CelError(NO_SUCH_OVERLOAD) from None

    def evaluate_counted(self, *values: object, meter: CostMeter) -> Any:
        """Return the value of the expression, and add the cost to the meter, even after a failure.

        Raises:
            CelError: The evaluation fails.
            BudgetError: It costs more than the meter's limit. The cost is then some number above the limit.
        """
        evaluate = self._counted or self._prepared_counted()
        try:
            return evaluate(meter, {}, *values)
        except _MISMATCHES:
            raise CelError(NO_SUCH_OVERLOAD) from None
        finally:
            if meter.cost > meter.limit:
                raise BudgetError(CALL_COST_EXCEEDED)

    def prepare(self, *, counting: bool) -> None:
        """Generate the function with or without cost counting."""
        if counting:
            self._prepared_counted()
        else:
            self._prepared_plain()

    def _prepared_plain(self) -> _Evaluate:
        if self._plain is None:
            self._plain = self._generate(counting=False)
        return self._plain

    def _prepared_counted(self) -> _Evaluate:
        if self._counted is None:
            self._counted = self._generate(counting=True)
        return self._counted

    def source(self, *, counting: bool) -> str:
        """Return the generated code, for people to read."""
        return self._compile(counting=counting)[0]

    def _generate(self, *, counting: bool) -> _Evaluate:
        source, scope = self._compile(counting=counting)
        exec(compile(source, _FILE, "exec"), scope)  # noqa: S102 - see compiler/__init__.py
        # in its own globals it would be a reference cycle
        return scope.pop("evaluate")  # type: ignore[return-value]

    def _compile(self, *, counting: bool) -> tuple[str, dict[str, object]]:
        with deep_recursion():
            variables = [
                (name, CodeValue(f"v{place}", DYN if shape is None else type_of_shape(shape), shape))
                for place, (name, shape) in enumerate(self._variables.items())
            ]
            return compile_functions(self._checked, variables, self._functions, self._constants, counting=counting)


def compile_program(checked: CheckedAst, variables: Mapping[str, Shape | None], functions: Mapping[str, Sequence[object]]) -> Program:
    """Return the program of a checked expression.

    Args:
        checked: The expression.
        variables: The variables in the order in which `evaluate` gets their values. Values of a variable with a shape are JSON; without
            one they are run-time values. An expression fails where it refers to a variable that is not among them.
        functions: The functions of the environment by name. Standard ones are known without an implementation.

    Raises:
        CelError: A conversion of a constant fails, so there is no program ("program instantiation failed").
    """
    constants = fold(checked)
    return Program(checked, variables, functions, constants)
