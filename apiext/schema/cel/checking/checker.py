"""Type checker (cel-go checker/checker.go): resolves names and overloads, infers types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import Final

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
    Uint,
)
from apiext.schema.cel.checking.type_inference import Inference, display_type, is_less_specific, is_variable, unwrap_optional
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.program import deep_recursion
from apiext.schema.cel.syntax.source import CompileError, Issue, display_issues
from apiext.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
)

_LIBRARY_TYPES: Final = "kubernetes."
"""Prefix of type names that the reference declares as objects without fields."""
_CONSTANT_TYPES: Final[Mapping[type, CelType]] = {
    bool: BOOL,
    Uint: UINT,
    int: INT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    NoneType: NULL,
}


def check(source: str, expression: Expression, positions: dict[int, int], environment: Environment) -> CheckedAst:
    """Return the expression with its types. Calls of namespaced functions become plain calls, qualified names identifiers.

    Raises:
        CompileError: A name is unknown, or types do not fit.

    """
    checker = _Checker(positions, environment)
    with deep_recursion():
        checked = checker.check(expression)
        if checker.issues:
            raise CompileError(display_issues(source, checker.issues))
        types = checker.inference.resolve(checker.types)
    return CheckedAst(checked, types, checker.overloads, checker.names, positions, source)


class _Checker:
    def __init__(self, positions: dict[int, int], environment: Environment) -> None:
        self.positions = positions
        self.environment = environment
        self.inference = Inference()
        self.issues: list[Issue] = []
        self.types: dict[int, CelType] = {}
        self.overloads: dict[int, tuple[str, ...]] = {}
        self.names: dict[int, str] = {}
        self.local: dict[str, list[CelType]] = {}
        """Types of the variables of macros by name, the innermost last."""

    def check(self, node: Expression) -> Expression:
        """Return the node with resolved names. Its type is in `types`."""
        match node:
            case Constant():
                self.types[node.id] = _CONSTANT_TYPES[type(node.value)]
                return node
            case Identifier():
                return self._identifier(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case StructLiteral():
                return self._struct(node)
            case Comprehension():
                return self._comprehension(node)

    def _report(self, node: int, message: str) -> None:
        self.issues.append(Issue(self.positions[node], message))

    def _undeclared(self, node: int, name: str) -> None:
        self.types[node] = ERROR
        self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _mismatch(self, node: int, expected: CelType, actual: CelType) -> None:
        self._report(node, f"expected type '{display_type(expected)}' but found '{display_type(actual)}'")

    def _resolve(self, node: int, name: str) -> Constant | Identifier | None:
        """Return the variable, type or constant of a name; a leading dot skips the variables of macros."""
        scope = self.local.get(name)
        if scope:
            self.types[node] = scope[-1]
            self.names[node] = name
            return Identifier(node, name)
        plain = name.removeprefix(".")
        kind = self.environment.identifier(plain)
        if kind is None:
            return None
        self.types[node] = kind
        self.names[node] = f".{plain}" if self.local.get(plain) else plain
        return Identifier(node, self.names[node])

    def _identifier(self, node: Identifier) -> Expression:
        resolved = self._resolve(node.id, node.name)
        if resolved is None:
            self._undeclared(node.id, node.name)
            return node
        return resolved

    def _select(self, node: Select) -> Expression:
        name = _qualified_name(node)
        if name is not None and not node.test_only and not self.local.get(name.partition(".")[0]):
            resolved = self._resolve(node.id, name)
            if resolved is not None:
                return resolved
        operand, kind = self._field(node.id, node.operand, node.field)
        self.types[node.id] = BOOL if node.test_only else self.inference.substitute(kind)
        return replace(node, operand=operand)

    def _field(self, node: int, operand: Expression, field: str, *, optional: bool = False) -> tuple[Expression, CelType]:
        """Return the checked operand and the type of its field."""
        checked = self.check(operand)
        target, unwrapped = unwrap_optional(self.inference.substitute(self.types[operand.id]))
        if target.name == "map":
            result = target.parameters[1]
        elif is_variable(target):
            self.inference.assign(DYN, target)
            result = DYN
        elif target in (DYN, ERROR):
            result = DYN
        elif self.environment.is_object(target):
            found = self.environment.field(target, field)
            if found is None:
                self._report(node, f"undefined field '{field}'")
            result = found or ERROR
        elif target.name.startswith(_LIBRARY_TYPES):
            self._report(node, f"unexpected failed resolution of '{target.name}'")
            result = ERROR
        else:
            self._report(node, f"type '{display_type(target)}' does not support field selection")
            result = DYN
        return checked, optional_of(result) if unwrapped or optional else result

    def _call(self, node: Call) -> Expression:
        if node.function == "_?._":
            return self._optional_select(node)
        arguments = tuple([self.check(argument) for argument in node.arguments])
        target = node.target
        name = node.function
        if target is None:
            name = name.removeprefix(".")
        else:
            qualified = _qualified_name(target)
            full = "" if qualified is None else f"{qualified.removeprefix('.')}.{name}"
            if self.environment.has_function(full):
                target, name = None, full
            else:
                target = self.check(target)
        if not self.environment.has_function(name):
            self._undeclared(node.id, node.function)
            return node
        self._resolve_overload(node.id, name, target, arguments)
        return Call(node.id, name, arguments, target)

    def _optional_select(self, node: Call) -> Expression:
        operand, field = node.arguments
        if not isinstance(field, Constant) or not isinstance(field.value, str):
            raise TypeError(field)
        checked, kind = self._field(node.id, operand, field.value, optional=True)
        self.types[node.id] = self.inference.substitute(kind)
        self.overloads[node.id] = ("select_optional_field",)
        return replace(node, arguments=(checked, field))

    def _resolve_overload(self, node: int, name: str, target: Expression | None, arguments: tuple[Expression, ...]) -> None:
        operands = arguments if target is None else (target, *arguments)
        types = tuple([self.types[operand.id] for operand in operands])
        if name in {"_&&_", "_||_"}:
            self._logic(node, name, operands, types)
            return
        result: CelType | None = None
        matching = []
        for overload in self.environment.overloads(name):
            if overload.member != (target is not None):
                continue
            parameters, overload_result = overload.parameters, overload.result
            if overload.type_parameters:
                fresh = {parameter: self.inference.new_variable() for parameter in overload.type_parameters}
                parameters = tuple([_instantiate(parameter, fresh) for parameter in parameters])
                overload_result = _instantiate(overload_result, fresh)
            if not self.inference.assign_all(types, parameters):
                continue
            matching.append(overload.id)
            overload_result = self.inference.substitute(overload_result)
            if result is None:
                result = overload_result
            elif result not in (DYN, overload_result):
                result = DYN
        if result is None:
            shown = [display_type(self.inference.substitute(kind, finally_dyn=True)) for kind in types]
            receiver = f"{shown.pop(0)}." if target is not None else ""
            self._report(node, f"found no matching overload for '{name}' applied to '{receiver}({', '.join(shown)})'")
        else:
            self.overloads[node] = tuple(matching)
        self.types[node] = result or ERROR

    def _logic(self, node: int, name: str, operands: tuple[Expression, ...], types: tuple[CelType, ...]) -> None:
        self.overloads[node] = ("logical_and" if name == "_&&_" else "logical_or",)
        self.types[node] = BOOL
        for operand, kind in zip(operands, types, strict=True):
            if not self.inference.assign(kind, BOOL):
                self._mismatch(operand.id, BOOL, kind)
                self.types[node] = ERROR

    def _join(self, previous: CelType | None, current: CelType) -> CelType:
        """Return a common type. `literal_validation.py` reports mixed literals later."""
        if previous is None:
            return current
        if self.inference.assign(previous, current):
            return previous if is_less_specific(previous, current) else current
        return DYN

    def _element_type(self, node: int, *, optional: bool) -> CelType:
        kind = self.types[node]
        if not optional:
            return kind
        inner, is_optional = unwrap_optional(kind)
        if not is_optional and inner != DYN:
            self._mismatch(node, optional_of(inner), inner)
        return inner

    def _list(self, node: ListLiteral) -> Expression:
        elements = []
        joined: CelType | None = None
        optional = set(node.optional_indices)
        for index, element in enumerate(node.elements):
            elements.append(self.check(element))
            joined = self._join(joined, self._element_type(element.id, optional=index in optional))
        self.types[node.id] = list_of(joined or self.inference.new_variable())
        return replace(node, elements=tuple(elements))

    def _map(self, node: MapLiteral) -> Expression:
        entries = []
        key_type: CelType | None = None
        value_type: CelType | None = None
        for entry in node.entries:
            key = self.check(entry.key)
            key_type = self._join(key_type, self.types[entry.key.id])
            value = self.check(entry.value)
            value_type = self._join(value_type, self._element_type(entry.value.id, optional=entry.optional))
            entries.append(replace(entry, key=key, value=value))
        if key_type is None or value_type is None:
            key_type, value_type = self.inference.new_variable(), self.inference.new_variable()
        self.types[node.id] = map_of(key_type, value_type)
        return replace(node, entries=tuple(entries))

    def _struct(self, node: StructLiteral) -> Expression:
        name = node.type_name.removeprefix(".")
        kind = CelType(name)
        if not self.environment.is_object(kind):
            self._undeclared(node.id, node.type_name)
            kind = ERROR
        self.types[node.id] = kind
        fields = []
        for field in node.fields:
            value = self.check(field.value)
            fields.append(replace(field, value=value))
            value_type = self._element_type(field.value.id, optional=field.optional)
            expected = self._field_type(field.id, name, field.name) if kind != ERROR else ERROR
            if not self.inference.assign(expected, value_type):
                shown = f"'{display_type(expected)}' but provided type is '{display_type(value_type)}'"
                self._report(field.id, f"expected type of field '{field.name}' is {shown}")
        return replace(node, type_name=name, fields=tuple(fields))

    def _field_type(self, node: int, type_name: str, field: str) -> CelType:
        found = self.environment.field(CelType(type_name), field)
        if found is None:
            self._report(node, f"undefined field '{field}'")
        return found or ERROR

    def _comprehension(self, node: Comprehension) -> Expression:
        iter_range = self.check(node.iter_range)
        accu_init = self.check(node.accu_init)
        first, second = self._iteration_types(node)
        accumulated = self.types[node.accu_init.id]
        self._enter(node.accu_var, accumulated)
        self._enter(node.iter_var, first)
        if node.iter_var2:
            self._enter(node.iter_var2, second)
        condition = self.check(node.loop_condition)
        self._assert(node.loop_condition.id, BOOL)
        step = self.check(node.loop_step)
        self._assert(node.loop_step.id, accumulated)
        if node.iter_var2:
            self.local[node.iter_var2].pop()
        self.local[node.iter_var].pop()
        result = self.check(node.result)
        self.local[node.accu_var].pop()
        self.types[node.id] = self.inference.substitute(self.types[node.result.id])
        return replace(node, iter_range=iter_range, accu_init=accu_init, loop_condition=condition, loop_step=step, result=result)

    def _iteration_types(self, node: Comprehension) -> tuple[CelType, CelType]:
        """Return the types of both variables. A single variable gets the elements of a list."""
        kind = self.inference.substitute(self.types[node.iter_range.id])
        if kind.name == "list":
            return (INT if node.iter_var2 else kind.parameters[0]), kind.parameters[0]
        if kind.name == "map":
            return kind.parameters[0], kind.parameters[1]
        if is_variable(kind) or kind.name in {DYN.name, ERROR.name}:
            self.inference.assign(DYN, kind)
            return DYN, DYN
        shown = display_type(kind)
        self._report(node.iter_range.id, f"expression of type '{shown}' cannot be range of a comprehension (must be list, map, or dynamic)")
        return ERROR, ERROR

    def _enter(self, name: str, kind: CelType) -> None:
        self.local.setdefault(name, []).append(kind)

    def _assert(self, node: int, expected: CelType) -> None:
        if not self.inference.assign(expected, self.types[node]):
            self._mismatch(node, expected, self.types[node])


def _qualified_name(node: Expression) -> str | None:
    """Return the qualified name of identifiers joined by dots, None if there is none."""
    parts = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Identifier):
        return None
    parts.append(node.name)
    return ".".join(reversed(parts))


def _instantiate(kind: CelType, variables: dict[str, CelType]) -> CelType:
    if not kind.parameters:
        return variables.get(kind.name, kind)
    return CelType(kind.name, tuple([_instantiate(parameter, variables) for parameter in kind.parameters]))
