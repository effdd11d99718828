"""The state of a compilation, with which the compilers of all kinds of nodes work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from keyword import iskeyword
from typing import Any, Final

from apiext.schema.cel.ast import Call, CheckedAst, Constant, Expression, Identifier, Select
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.libraries.library import Overload
from apiext.schema.cel.standard.kinds import type_of
from apiext.schema.cel.types import BOOL, DYN, INT, NULL, STRING, CelType

_LITERALS: Final = (bool, int, str, type(None))
"""Types whose `repr` is the literal itself."""

_TAB: Final = " "
MAX_DEPTH: Final = 12
"""Nested blocks of a generated function; Python compiles 20 at most."""


class FunctionWriter:
    """The statements of a function."""

    def __init__(self, *, counting: bool) -> None:
        self.counting = counting
        """Whether the function adds up costs in `meter`."""
        self.depth = 1
        self._lines: list[str] = []
        self._regions: list[tuple[int, list[int]]] = []

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(_TAB * self.depth + text)

    def placeholder(self) -> int:
        """Reserve a line; see `fill`."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill(self, place: int, text: str, depth: int) -> None:
        """Write a statement into a reserved line."""
        self._lines[place] = _TAB * depth + text

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block such as `if x:`."""
        self.line(header)
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def region(self) -> Iterator[None]:
        """Collect the costs of statements that run together, and add them up before the first one."""
        self._regions.append((self.placeholder(), []))
        depth = self.depth
        yield
        place, costs = self._regions.pop()
        if self.counting and (total := sum(costs)):
            self.fill(place, f"meter.cost += {total}", depth)
        else:
            self.fill(place, "pass", depth)

    def charge(self, cost: int) -> None:
        """Add a cost to the statements of this region."""
        self._regions[-1][1].append(cost)

    def charge_result(self, code: str) -> None:
        """Add a cost that the evaluation computes."""
        if self.counting:
            self.line(f"meter.cost += {code}")

    def function(self, name: str, parameters: tuple[str, ...]) -> str:
        """Return the source of the function."""
        return "\n".join((f"def {name}({', '.join(('meter', 'memo', *parameters))}):", *filter(None, self._lines), ""))


class Compiler:
    """Compiles one expression to the source of functions; `nodes.py` has the compilers of its nodes."""

    def __init__(
        self,
        checked: CheckedAst,
        functions: Mapping[str, Sequence[object]],
        constants: Mapping[int, object],
        compile_node: Callable[[Compiler, Expression], CodeValue],
        *,
        counting: bool,
    ) -> None:
        self.checked = checked
        self.counting = counting
        self.folded = constants
        """Values of nodes that are constant, by id."""
        self.writer = FunctionWriter(counting=counting)
        self.globals: dict[str, object] = {}
        self.qualifiers = 0
        """Number of qualifiers that follow in the chain of the node that is compiled."""
        self._bound: dict[int, str] = {}
        """Names of global variables by the identity of their values."""
        self._compile_node = compile_node
        self._functions = functions
        self._sources: list[str] = []
        self._scope: dict[str, list[CodeValue]] = {}
        self._names = 0

    def source(self, variables: Sequence[tuple[str, CodeValue]]) -> str:
        """Return the source of all functions; `evaluate` gets the values of the variables."""
        with self.writer.region():
            for name, operand in variables:
                self._scope.setdefault(name, []).append(operand)
            self.writer.line(f"return {self.value(self.visit(self.checked.expression))}")
        self._sources.append(self.writer.function("evaluate", tuple(operand.code for _, operand in variables)))
        return "\n".join(self._sources)

    def visit(self, node: Expression) -> CodeValue:
        """Write the statements that evaluate a node."""
        if node.id in self.folded:
            return self.constant(self.folded[node.id], self.checked.types.get(node.id))
        if self.writer.depth > MAX_DEPTH and not isinstance(node, Identifier | Constant | Select):
            return self._outline(node)
        return self._compile_node(self, node)

    def _outline(self, node: Expression) -> CodeValue:
        """Compile a node to a function of its own, and write its call."""
        outer, self.writer = self.writer, FunctionWriter(counting=self.counting)
        parameters = tuple(dict.fromkeys(operand.code for stack in self._scope.values() for operand in stack if _is_variable(operand.code)))
        name = self.name("f")
        with self.writer.region():
            operand = self._compile_node(self, node)
            self.writer.line(f"return {operand.code}")
        self._sources.append(self.writer.function(name, parameters))
        self.writer = outer
        result = self.name("t")
        self.writer.line(f"{result} = {name}({', '.join(('meter', 'memo', *parameters))})")
        return CodeValue(result, operand.type, operand.shape, operand.may_fail, operand.plain)

    def variable(self, name: str, *, outermost: bool) -> CodeValue | None:
        """Return the variable of a name: the outermost one, which the environment declares, or else the innermost one."""
        found = self._scope.get(name)
        return found[0 if outermost else -1] if found else None

    def constant(self, value: object, declared: CelType | None = None) -> CodeValue:
        """Return a constant."""
        if declared == DYN:
            kind = DYN
        elif isinstance(value, bool):
            kind = BOOL
        elif type(value) is int:
            kind = INT
        elif isinstance(value, str):
            kind = STRING
        elif value is None:
            kind = NULL
        else:
            kind = declared if declared is not None and isinstance(value, list | dict) else type_of(value)
        code = repr(value) if type(value) in _LITERALS else self.bind(value)
        plain = not isinstance(value, list | dict) or _is_uniform(kind)
        return CodeValue(code, kind, plain=plain)

    @contextmanager
    def scope(self, variables: Mapping[str, CodeValue]) -> Iterator[None]:
        """Declare variables."""
        for name, operand in variables.items():
            self._scope.setdefault(name, []).append(operand)
        yield
        for name in variables:
            self._scope[name].pop()

    @contextmanager
    def chain(self, qualifiers: int) -> Iterator[None]:
        """Set the number of qualifiers that follow."""
        before, self.qualifiers = self.qualifiers, qualifiers
        yield
        self.qualifiers = before

    def name(self, prefix: str) -> str:
        """Return a new Python name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def bind(self, value: object) -> str:
        """Return the name of a global variable with a value that Python cannot spell."""
        if id(value) not in self._bound:
            name = self._bound[id(value)] = self.name("k")
            self.globals[name] = value
        return self._bound[id(value)]

    def atom(self, operand: CodeValue) -> CodeValue:
        """Return an operand whose code may be used many times."""
        if _is_variable(operand.code) or operand.code[0] in "'\"-0123456789" or operand.code in {"True", "False", "None"}:
            return operand
        name = self.name("t")
        self.writer.line(f"{name} = {operand.code}")
        return CodeValue(name, operand.type, operand.shape, operand.may_fail, operand.plain)

    def assign(self, code: str, kind: CelType, *, may_fail: bool) -> CodeValue:
        """Write an assignment and return the variable."""
        name = self.name("t")
        self.writer.line(f"{name} = {code}")
        return CodeValue(name, kind, may_fail=may_fail)

    def value(self, operand: CodeValue) -> str:
        """Return the code of the run-time value; JSON that is none is converted."""
        if operand.shape is None or operand.shape.is_plain:
            return operand.code
        name = self.name("t")
        self.writer.line(f"{name} = {self.bind(operand.shape.convert)}({operand.code}, memo)")
        return name

    def converted(self, operand: CodeValue) -> CodeValue:
        """Return an operand that is a run-time value."""
        if operand.shape is None:
            return operand
        return CodeValue(self.value(operand), operand.type, None, operand.may_fail or not operand.shape.is_plain, operand.is_plain)

    def type_of(self, node: Expression) -> CelType:
        """Return the type that the checker found."""
        return self.checked.types.get(node.id, DYN)

    def candidates(self, node: Call) -> tuple[Overload, ...]:
        """Return the overloads of libraries that come into question for a call."""
        found = self.checked.overloads.get(node.id, ())
        return tuple(each for each in self._functions.get(node.function, ()) if isinstance(each, Overload) and each.id in found)


def _is_variable(code: str) -> bool:
    return code.isidentifier() and not iskeyword(code)


def _is_uniform(kind: Any) -> bool:
    """Return whether a type has no `dyn` in it, so that equal values of it have equal types."""
    pending = [kind]
    while pending:
        part = pending.pop()
        if part.name in {"dyn", "double", "optional_type"}:
            return False
        pending.extend(part.parameters)
    return bool(kind.parameters)
