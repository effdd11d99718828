"""Estimates of whole expressions (cel-go checker/cost.go)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Final

from apiext.schema.cel.ast import (
    Call,
    CheckedAst,
    Comprehension,
    Constant,
    Expression,
    Identifier,
    ListLiteral,
    MapLiteral,
    Select,
    StructLiteral,
)
from apiext.schema.cel.cost.estimate import EMPTY, ONE, UNKNOWN, ZERO, Estimate, exactly
from apiext.schema.cel.cost.extensions import EXTENSION_ESTIMATORS, LIST_COST
from apiext.schema.cel.cost.kubernetes import KUBERNETES_ESTIMATORS
from apiext.schema.cel.cost.operand import NO_PATH, CallEstimate, DeclarationPath, EntrySize, Invocation, Operand, SizeOf
from apiext.schema.cel.cost.standard import STANDARD_ESTIMATORS
from apiext.schema.cel.types import DYN, CelType

_MAP_COST: Final = exactly(30)
_STRUCT_COST: Final = exactly(40)
_SCALARS: Final = frozenset({"bool", "double", "google.protobuf.Duration", "int", "google.protobuf.Timestamp", "uint"})
_FREE_SELECTIONS: Final = frozenset({"dyn", "optional_type"})
"""Types whose fields cost nothing to select."""
_ACCUMULATORS: Final = ("__result__", "@result")

_Visit = Generator[Expression, Estimate, Estimate]
"""Yields the operands of an expression, receives the cost of each, and returns the cost of the expression."""


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable of a comprehension."""

    path: DeclarationPath
    size: Estimate | None
    entries: EntrySize | None = None


def estimate_cost(checked: CheckedAst, size_of: SizeOf) -> Estimate:
    """Return what an evaluation of an expression costs; `size_of` returns the sizes of variables and of the values in them."""
    return CostEstimator(checked, size_of).run()


class CostEstimator:
    """Walks an expression in the order in which cel-go does, since the sizes of later parts depend on earlier ones."""

    no_path: ClassVar = NO_PATH
    free_selection: ClassVar = ZERO
    """Cost to select a field of a value of unknown type."""

    def __init__(self, checked: CheckedAst, size_of: SizeOf) -> None:
        self._checked = checked
        self._size_of = size_of
        self._paths: dict[int, DeclarationPath] = {}
        self._variables: dict[str, list[_Variable]] = {}
        self._sizes: dict[int, Estimate] = {}
        self._entries: dict[int, EntrySize] = {}

    def run(self) -> Estimate:
        """Return the cost of the expression, with a stack of its own for the expressions that contain each other."""
        visits: list[_Visit] = []
        step = self._visit(self._checked.expression)
        while not isinstance(step, Estimate) or visits:
            try:
                if isinstance(step, Estimate):
                    operand = visits[-1].send(step)
                else:
                    visits.append(step)
                    operand = next(step)
            except StopIteration as end:
                visits.pop()
                step = end.value
            else:
                step = self._visit(operand)
        return step

    def estimate_call(self, call: Invocation) -> CallEstimate:
        """Return the cost of a call with one of its overloads."""
        for estimator in (
            EXTENSION_ESTIMATORS.get(call.overload),
            KUBERNETES_ESTIMATORS.get(call.function),
            STANDARD_ESTIMATORS.get(call.overload),
        ):
            if estimator is not None and (estimate := estimator(call)) is not None:
                return estimate
        return CallEstimate(ONE)

    def _visit(self, expression: Expression) -> _Visit | Estimate:
        if isinstance(expression, Constant):
            return ZERO
        if isinstance(expression, Identifier):
            variable = self._variable(expression)
            self._paths[expression.id] = self.no_path.then(expression.name) if variable is None else variable.path
            return ONE
        if isinstance(expression, Select):
            return self._select(expression)
        if isinstance(expression, Call):
            return self._unwrapped(expression) if expression.function == "dyn" else self._call(expression)
        if isinstance(expression, ListLiteral):
            return self._list(expression)
        if isinstance(expression, MapLiteral):
            return self._map(expression)
        if isinstance(expression, StructLiteral):
            return self._struct(expression)
        return self._binding(expression) if _is_binding(expression) else self._comprehension(expression)

    def _select(self, select: Select) -> _Visit:
        operand = select.operand
        cost = yield operand
        if select.test_only:
            return cost
        cost = cost.plus(self.free_selection if self._type(operand).name in _FREE_SELECTIONS else ONE)
        self._paths[select.id] = self._path(operand).then(select.field)
        return cost

    def _unwrapped(self, call: Call) -> _Visit:
        argument = call.arguments[0]
        cost = yield argument
        self._copy_sizes(call, argument)
        return cost.plus(ONE)

    def _list(self, literal: ListLiteral) -> _Visit:
        cost, item = LIST_COST, EMPTY if literal.elements else ZERO
        for element in literal.elements:
            cost = cost.plus((yield element))
            item = item.union(self._size_or_unknown(element))
        self._entries[literal.id] = EntrySize(is_list=True, key=ONE, value=item)
        return cost

    def _struct(self, literal: StructLiteral) -> _Visit:
        cost = _STRUCT_COST
        for field in literal.fields:
            cost = cost.plus((yield field.value))
        return cost

    def _map(self, literal: MapLiteral) -> _Visit:
        cost = _MAP_COST
        key_size, value_size = (EMPTY, EMPTY) if literal.entries else (ZERO, ZERO)
        for entry in literal.entries:
            cost = cost.plus((yield entry.key))
            cost = cost.plus((yield entry.value))
            key_size = key_size.union(self._size_or_unknown(entry.key))
            value_size = value_size.union(self._size_or_unknown(entry.value))
        self._entries[literal.id] = EntrySize(is_list=False, key=key_size, value=value_size)
        return cost

    def _call(self, call: Call) -> _Visit:
        arguments = []
        for argument in call.arguments:
            cost = yield argument
            arguments.append(self._operand(argument, cost))
        overloads = self._checked.overloads.get(call.id)
        if not overloads:
            return ZERO
        target, target_cost = None, ZERO
        if call.target is not None:
            target_cost = yield call.target
            target = self._operand(call.target, target_cost)
        operands_cost = ZERO
        for operand in arguments:
            operands_cost = operands_cost.plus(operand.cost)
        cost, size = EMPTY, None
        for overload in overloads:
            estimate = self.estimate_call(Invocation(call.function, overload, target, arguments, self._size_of))
            cost = cost.union(estimate.cost if estimate.includes_operands else estimate.cost.plus(operands_cost))
            if estimate.entries is not None:
                self._entries[call.id] = estimate.entries
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            size = self._result_size(call, overload, size)
        if size is not None:
            self._sizes[call.id] = size
        return target_cost.plus(cost)

    def _result_size(self, call: Call, overload: str, size: Estimate | None) -> Estimate | None:
        """Return the size of a call's result; note the path of the result if the call is an index."""
        if overload in {"index_list", "index_map"}:
            container = call.arguments[0]
            entries = self._entry_size(container)
            size = None if entries is None else entries.value
            self._paths[call.id] = self._path(container).then("@items" if overload == "index_list" else "@values")
        return self._size(call) if size is None else size

    def _comprehension(self, loop: Comprehension) -> _Visit:
        cost = (yield loop.iter_range).plus((yield loop.accu_init))
        self._push(loop.accu_var, self._bound(loop.accu_init))
        if loop.iter_var2:
            self._push(loop.iter_var, self._entry(loop.iter_range, key=True))
            self._push(loop.iter_var2, self._entry(loop.iter_range, key=False))
        else:
            self._push(loop.iter_var, self._entry(loop.iter_range, key=not self._is_list(loop.iter_range)))
        condition_cost = yield loop.loop_condition
        step_cost = yield loop.loop_step
        self._variables[loop.iter_var].pop()
        if loop.iter_var2:
            self._variables[loop.iter_var2].pop()
        cost = cost.plus((yield loop.result))
        self._variables[loop.accu_var].pop()
        count = self._size_or_unknown(loop.iter_range)
        if isinstance(loop.accu_init, Constant):
            self._set_sizes(loop, self._size(loop.accu_init), None)
        elif isinstance(loop.accu_init, ListLiteral | MapLiteral):
            self._set_sizes(loop, count, self._entry_size(loop.loop_step))
        return cost.plus(count.times(step_cost.plus(condition_cost)))

    def _binding(self, loop: Comprehension) -> _Visit:
        cost = (yield loop.iter_range).plus((yield loop.accu_init))
        self._push(loop.accu_var, self._bound(loop.accu_init))
        cost = cost.plus((yield loop.result))
        self._variables[loop.accu_var].pop()
        self._copy_sizes(loop, loop.result)
        return cost

    def _push(self, name: str, variable: _Variable) -> None:
        self._variables.setdefault(name, []).append(variable)

    def _bound(self, value: Expression) -> _Variable:
        return _Variable(self._path(value), self._size(value), self._entry_size(value))

    def _entry(self, container: Expression, *, key: bool) -> _Variable:
        """Return the variable that stands for the keys or the values of a container."""
        entries, is_list = self._entry_size(container), self._is_list(container)
        step = ("@indices" if is_list else "@keys") if key else ("@items" if is_list else "@values")
        size = None if entries is None else entries.key if key else entries.value
        return _Variable(self._path(container).then(step), size)

    def _is_list(self, container: Expression) -> bool:
        entries = self._entry_size(container)
        return self._type(container).name == "list" if entries is None else entries.is_list

    def _variable(self, identifier: Identifier) -> _Variable | None:
        variables = self._variables.get(identifier.name)
        return variables[-1] if variables else None

    def _type(self, expression: Expression) -> CelType:
        return self._checked.types.get(expression.id, DYN)

    def _path(self, expression: Expression) -> DeclarationPath:
        if isinstance(expression, Identifier) and (variable := self._variable(expression)) is not None:
            return variable.path
        return self._paths.get(expression.id, self.no_path)

    def _operand(self, expression: Expression, cost: Estimate) -> Operand:
        path = self._path(expression)
        is_known = path is not self.no_path and path.variable not in _ACCUMULATORS
        size, entries = self._size(expression), self._entry_size(expression)
        return Operand(expression, self._type(expression), path if is_known else None, size, entries, cost)

    def _set_sizes(self, expression: Expression, size: Estimate | None, entries: EntrySize | None) -> None:
        if size is not None:
            self._sizes[expression.id] = size
        if entries is not None:
            self._entries[expression.id] = entries

    def _copy_sizes(self, target: Expression, source: Expression) -> None:
        self._set_sizes(target, self._size(source), self._entry_size(source))

    def _size_or_unknown(self, expression: Expression) -> Estimate:
        size = self._size(expression)
        return UNKNOWN if size is None else size

    def _size(self, expression: Expression) -> Estimate | None:
        """Return the size of an expression's value: computed, as written, as declared, or as its type has it."""
        size = self._sizes.get(expression.id)
        if size is None:
            size = _written_size(expression)
        if size is not None:
            return size
        path = self._path(expression)
        declared = None if path is self.no_path else self._size_of(path)
        if declared is not None:
            self._sizes[expression.id] = declared
            return declared
        if _is_scalar(self._type(expression)):
            return ONE
        variable = self._variable(expression) if isinstance(expression, Identifier) else None
        return None if variable is None else variable.size

    def _entry_size(self, expression: Expression) -> EntrySize | None:
        entries = self._entries.get(expression.id)
        if entries is None and isinstance(expression, Identifier) and (variable := self._variable(expression)) is not None:
            return variable.entries
        return entries


def _is_binding(loop: Comprehension) -> bool:
    """Report whether a loop never runs, as those that only name a value."""
    is_empty = isinstance(loop.iter_range, ListLiteral) and not loop.iter_range.elements
    never = isinstance(loop.loop_condition, Constant) and loop.loop_condition.value is False
    return is_empty and never and loop.accu_var != _ACCUMULATORS[0]


def _is_scalar(type_: CelType) -> bool:
    while type_.name == "optional_type":
        type_ = type_.parameters[0]
    return type_.name in _SCALARS


def _written_size(expression: Expression) -> Estimate | None:
    """Return the size of a literal, None for other expressions."""
    if isinstance(expression, Constant):
        return exactly(len(expression.value)) if isinstance(expression.value, str | bytes) else ONE
    if isinstance(expression, ListLiteral):
        return exactly(len(expression.elements))
    if isinstance(expression, MapLiteral):
        return exactly(len(expression.entries))
    return None
