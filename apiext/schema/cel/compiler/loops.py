"""Comprehensions: the loops that macros such as `all`, `exists`, `map` and `filter` expand to (cel-go interpreter, evalFold).

An error in an element does not end a loop: as in cel-go, `all` and `exists` may still find an element that decides, and other loops fail
with the error that the accumulated value has in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from apiext.schema.cel.ast import Call, Comprehension, Constant, Expression, Identifier, ListLiteral, MapLiteral, children
from apiext.schema.cel.compiler.code_value import PRIMITIVES, CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.compiler.logic import AND, OR, require_bool
from apiext.schema.cel.compiler.selections import CONDITIONAL, read
from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.standard.kinds import LIST, MAP, type_of
from apiext.schema.cel.types import BOOL, DYN, INT, STRING, CelType, list_of, map_of
from apiext.schema.cel.values.mixed_map import MixedMap

_LENIENT: Final = "@not_strictly_false"
_INSERT: Final = "cel.@mapInsert"
_LIST_COST: Final = 10
_GO_NAMES: Final = {
    "null_type": "Null",
    "bool": "Bool",
    "int": "Int",
    "uint": "Uint",
    "double": "Double",
    "string": "String",
    "bytes": "Bytes",
    "google.protobuf.Timestamp": "Timestamp",
    "google.protobuf.Duration": "Duration",
}


def compile_comprehension(compiler: Compiler, node: Comprehension) -> CodeValue:
    """Compile a loop."""
    if compiler.folded.get(node.iter_range.id) == [] and compiler.folded.get(node.loop_condition.id) is False:
        return _compile_binding(compiler, node)
    source = compiler.atom(compiler.visit(node.iter_range))
    quantifier = _quantifier(node)
    if quantifier is not None:
        return _compile_quantifier(compiler, node, source, *quantifier)
    return _compile_fold(compiler, node, source)


def _compile_binding(compiler: Compiler, node: Comprehension) -> CodeValue:
    """Compile a loop without turns, which only names a value. cel-go evaluates the value when it is first used."""
    if not _mentions(node.result, node.accu_var):
        return compiler.visit(node.result)
    value = compiler.atom(compiler.visit(node.accu_init))
    with compiler.scope({node.accu_var: value}):
        result = compiler.visit(node.result)
    return CodeValue(result.code, result.type, result.shape, result.may_fail or value.may_fail, result.plain)


def _mentions(node: Expression, name: str) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Identifier) and part.name == name:
            return True
        pending.extend(children(part))
    return False


def _quantifier(node: Comprehension) -> tuple[str, Expression] | None:
    """Return operator and predicate of a loop that `all` or `exists` has made."""
    condition, step = node.loop_condition, node.loop_step
    if not (isinstance(condition, Call) and condition.function == _LENIENT and isinstance(step, Call) and step.function in {AND, OR}):
        return None
    if not (len(step.arguments) == 2 and _is_result(node, step.arguments[0]) and _is_result(node, node.result)):
        return None
    return step.function, step.arguments[1]


def _is_result(node: Comprehension, part: Expression) -> bool:
    return isinstance(part, Identifier) and part.name == node.accu_var


def _compile_quantifier(compiler: Compiler, node: Comprehension, source: CodeValue, operator: str, predicate: Expression) -> CodeValue:
    """Compile `all` and `exists`: they end with the first element that decides."""
    writer = compiler.writer
    result, error = compiler.name("t"), compiler.name("e")
    writer.line(f"{result} = {operator == AND}")
    reset, depth = writer.placeholder(), writer.depth
    condition_cost = 2 if operator == AND else 3
    with _loop(compiler, node, source) as variables, writer.region():
        writer.charge(condition_cost)
        _check_limit(compiler)
        if compiler.counting:
            # The reference evaluates the condition once more before it ends the loop.
            with writer.block(f"if {result} is {operator == OR}:"):
                writer.line("break")
        inner_fails = _compile_predicate(compiler, node, variables, predicate, operator, result, error)
    writer.fill(reset, f"{error} = None" if inner_fails else "pass", depth)
    if inner_fails:
        with writer.block(f"if {error} is not None and {result} is {operator == AND}:"):
            writer.line(f"raise {error}")
    if source.is_dyn:
        writer.charge_result("1")
    else:
        writer.charge(1)
    return CodeValue(result, BOOL, may_fail=inner_fails or source.may_fail or _range_fails(source))


def _compile_predicate(
    compiler: Compiler,
    node: Comprehension,
    variables: _Variables,
    predicate: Expression,
    operator: str,
    result: str,
    error: str,
) -> bool:
    """Write the test of an element; return whether it may fail."""
    writer = compiler.writer
    depth, header = writer.depth, writer.placeholder()
    writer.depth += 1
    with writer.region():
        writer.charge(1)
        with compiler.scope(variables.operands(compiler, node)):
            operand = compiler.visit(predicate)
            if operand.type != BOOL:
                operand = compiler.atom(compiler.converted(operand))
            may_fail = require_bool(compiler, operand) or operand.may_fail or variables.may_fail
        with writer.block(f"if {'not ' if operator == AND else ''}{operand.code}:"):
            writer.line(f"{result} = {operator == OR}")
            if not compiler.counting:
                writer.line("break")
    writer.depth -= 1
    writer.fill(header, "try:" if may_fail else "if True:", depth)
    if may_fail:
        with writer.block(f"except {compiler.bind(CelError)} as x:"):
            writer.line(f"{error} = {error} or x")
    return may_fail


def _compile_fold(compiler: Compiler, node: Comprehension, source: CodeValue) -> CodeValue:
    """Compile a loop that collects or counts; the accumulated list or map is this loop's own, so that it may be changed in place."""
    writer = compiler.writer
    result = compiler.name("t")
    if isinstance(node.accu_init, ListLiteral | MapLiteral) and not compiler.folded.get(node.accu_init.id):
        writer.line(f"{result} = {_empty(compiler, node.accu_init)}")
    else:
        writer.line(f"{result} = {compiler.value(compiler.visit(node.accu_init))}")
    reset, depth = writer.placeholder(), writer.depth
    fold = _Fold(compiler, node, CodeValue(result, compiler.type_of(node.accu_init)), compiler.name("e"))
    with _loop(compiler, node, source) as variables, writer.region():
        _check_limit(compiler)
        fails = fold.turn(variables)
    writer.fill(reset, f"{fold.error} = None" if fails else "pass", depth)
    if fails:
        with writer.block(f"if {fold.error} is not None:"):
            writer.line(f"raise {fold.error}")
    with compiler.scope({node.accu_var: fold.total()}):
        operand = compiler.visit(node.result)
    may_fail = fails or operand.may_fail or source.may_fail or _range_fails(source)
    return CodeValue(operand.code, operand.type, operand.shape, may_fail)


def _empty(compiler: Compiler, literal: ListLiteral | MapLiteral) -> str:
    """Return the code of an empty list or map."""
    if isinstance(literal, ListLiteral):
        return "[]"
    return "{}" if compiler.type_of(literal).parameters[0] in PRIMITIVES else f"{compiler.bind(MixedMap)}()"


@dataclass
class _Fold:
    """The turns of a loop that collects or counts."""

    compiler: Compiler
    node: Comprehension
    accumulated: CodeValue
    error: str
    """The variable with the error of the accumulated value."""
    unsure: bool = False
    """Whether elements may have another type than the checker says: they may be null."""

    def total(self) -> CodeValue:
        """Return what the turns have accumulated."""
        kind = self.accumulated.type
        if kind.name == "list":
            kind = list_of(DYN) if self.unsure else self.compiler.type_of(self.node)
        elif kind.name == "map":
            kind = map_of(DYN, DYN) if self.unsure else self.compiler.type_of(self.node)
        return CodeValue(self.accumulated.code, kind)

    def turn(self, variables: _Variables) -> bool:
        """Write the body of the loop; return whether it may fail."""
        compiler, writer, step = self.compiler, self.compiler.writer, self.node.loop_step
        depth, header = writer.depth, writer.placeholder()
        writer.depth += 1
        condition_fails = False
        with compiler.scope({self.node.accu_var: self.accumulated}), compiler.scope(variables.operands(compiler, self.node)):
            if compiler.folded.get(self.node.loop_condition.id) is not True:
                self._condition()
            if isinstance(step, Call) and step.function == CONDITIONAL and _is_result(self.node, step.arguments[2]):
                condition = compiler.atom(compiler.converted(compiler.visit(step.arguments[0])))
                condition_fails = require_bool(compiler, condition) or condition.may_fail
                with writer.block(f"if {condition.code}:"), writer.region():
                    step_fails = self._step(step.arguments[1], absorb=condition_fails)
            else:
                step_fails = self._step(step, absorb=False)
        writer.depth -= 1
        may_fail = condition_fails or step_fails or variables.may_fail
        writer.fill(header, "try:" if may_fail else "if True:", depth)
        if may_fail:
            with writer.block(f"except {compiler.bind(CelError)} as x:"):
                writer.line(f"{self.error} = {'x' if condition_fails else f'{self.error} or x'}")
        return may_fail

    def _condition(self) -> None:
        condition = self.compiler.atom(self.compiler.converted(self.compiler.visit(self.node.loop_condition)))
        with self.compiler.writer.block(f"if {condition.code} is False:"):
            self.compiler.writer.line("break")

    def _step(self, step: Expression, *, absorb: bool) -> bool:
        """Write what a turn adds; return whether it may fail. An absorbed failure counts only if there was none before."""
        writer = self.compiler.writer
        depth, header = writer.depth, writer.placeholder()
        writer.depth += 1
        may_fail = self._add(step)
        writer.depth -= 1
        writer.fill(header, "try:" if absorb and may_fail else "if True:", depth)
        if absorb and may_fail:
            with writer.block(f"except {self.compiler.bind(CelError)} as x:"):
                writer.line(f"{self.error} = {self.error} or x")
        return may_fail

    def _add(self, step: Expression) -> bool:
        compiler, writer, target = self.compiler, self.compiler.writer, self.accumulated.code
        if isinstance(step, Call) and step.function == "_+_" and _is_result(self.node, step.arguments[0]):
            added = step.arguments[1]
            if isinstance(added, ListLiteral) and len(added.elements) == 1 and not added.optional_indices:
                writer.charge(2 if added.id in compiler.folded else 2 + _LIST_COST)
                element = compiler.converted(compiler.visit(added.elements[0]))
                self.unsure = self.unsure or element.is_dyn
                writer.line(f"{target}.append({element.code})")
                return element.may_fail
            if isinstance(added, Constant) and added.value == 1 and self.accumulated.type == INT:
                writer.charge(2)
                writer.line(f"{target} += 1")
                return False
        if isinstance(step, Call) and step.function == _INSERT and _is_result(self.node, step.arguments[0]):
            self.unsure = True
            compiler.visit(step)
            return True
        operand = compiler.visit(step)
        self.unsure = True
        writer.line(f"{target} = {compiler.value(operand)}")
        return operand.may_fail


class _Variables:
    """The variables of a loop: Python names, and the shapes of their values."""

    def __init__(self, first: CodeValue, second: CodeValue | None) -> None:
        self._first, self._second = first, second
        self.may_fail = False

    def operands(self, compiler: Compiler, node: Comprehension) -> dict[str, CodeValue]:
        """Return the operands by name, and write their conversion."""
        variables = {node.iter_var: self._read(compiler, self._first)}
        if self._second is not None:
            variables[node.iter_var2] = self._read(compiler, self._second)
        return variables

    def _read(self, compiler: Compiler, operand: CodeValue) -> CodeValue:
        if operand.shape is None:
            return operand
        self.may_fail = self.may_fail or operand.shape.scalar is not None or operand.shape.strict
        value = read(compiler, operand.code, operand.shape)
        return CodeValue(value.code, value.type, value.shape)


@contextmanager
def _loop(compiler: Compiler, node: Comprehension, source: CodeValue) -> Iterator[_Variables]:
    """Write the head of a loop over a list, or over the keys or entries of a map."""
    first = compiler.name("x")
    shape = None if source.shape is None or source.shape.optional else source.shape
    kind = (
        LIST
        if (shape and shape.type == "array") or source.type.name == "list"
        else MAP
        if shape is not None or source.type.name == "map"
        else None
    )
    if source.is_dyn:
        kind = None
    element = None if shape is None or kind is None else shape.element
    code = source.code if element is not None else compiler.value(source)
    known = source.type.parameters if element is None and kind is not None else ()
    if not node.iter_var2:
        header = code if kind is not None else f"{compiler.bind(_members)}({code})"
        if kind is MAP:
            variables = _Variables(CodeValue(first, STRING if element is not None else _sure(known, 0)), None)
        else:
            variables = _Variables(CodeValue(first, _sure(known, 0), element), None)
        with compiler.writer.block(f"for {first} in {header}:"):
            yield variables
        return
    second = compiler.name("x")
    header = f"{compiler.bind(_entries)}({code})" if kind is None else f"enumerate({code})" if kind is LIST else f"{code}.items()"
    key = INT if kind is LIST else STRING if element is not None else _sure(known, 0)
    value = CodeValue(second, _sure(known, len(known) - 1), element)
    with compiler.writer.block(f"for {first}, {second} in {header}:"):
        yield _Variables(CodeValue(first, key), value)


def _sure(parameters: tuple[CelType, ...], place: int) -> CelType:
    """Return the type of a member of a list or map; it may be null unless it was computed, so only primitive types are sure."""
    return parameters[place] if parameters else DYN


def _range_fails(source: CodeValue) -> bool:
    return source.is_dyn or (source.shape is not None and not source.shape.is_plain)


def _check_limit(compiler: Compiler) -> None:
    if compiler.counting:
        with compiler.writer.block("if meter.cost > meter.limit:"):
            compiler.writer.line(f"raise {compiler.bind(BudgetError)}")


def _members(container: Any) -> Any:
    """Return what a loop with one variable runs over. Raises CelError."""
    if isinstance(container, list | dict):
        return container
    raise CelError(f"got 'types.{_go_name(container)}', expected iterable type")


def _entries(container: Any) -> Any:
    """Return what a loop with two variables runs over. Raises CelError."""
    if isinstance(container, list):
        return enumerate(container)
    if isinstance(container, dict):
        return container.items()
    raise CelError(f"unsupported comprehension range type: types.{_go_name(container)}")


def _go_name(value: object) -> str:
    name = type_of(value).name
    return _GO_NAMES.get(name, name)
