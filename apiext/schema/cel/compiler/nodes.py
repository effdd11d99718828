"""Compiles expressions node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
)
from apiext.schema.cel.compiler.calls import compile_call
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.compiler.loops import compile_comprehension
from apiext.schema.cel.compiler.selections import QUALIFIERS, compile_identifier, compile_index, compile_select
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import DYN, list_of, map_of
from apiext.schema.cel.values.mixed_map import MixedMap
from apiext.schema.cel.values.run_time_values import OptionalValue
from apiext.schema.cel.values.structs import make_struct

_LIST_COST: Final = 10
_MAP_COST: Final = 30
_STRUCT_COST: Final = 40


def compile_list(compiler: Compiler, node: ListLiteral) -> CodeValue:
    """Compile `[a, ?b]`."""
    compiler.writer.charge(_LIST_COST)
    codes, may_fail, unsure = [], bool(node.optional_indices), False
    for place, element in enumerate(node.elements):
        operand = compiler.atom(compiler.converted(compiler.visit(element)))
        may_fail, unsure = may_fail or operand.may_fail, unsure or operand.is_dyn
        if place in node.optional_indices:
            compiler.writer.line(f"{compiler.bind(_require_optional_element)}({operand.code})")
            codes.append(f"*([{operand.code}.value] if {operand.code}.present else ())")
        else:
            codes.append(operand.code)
    kind = list_of(DYN) if unsure else compiler.type_of(node)
    return compiler.assign(f"[{', '.join(codes)}]", kind, may_fail=may_fail)


def compile_map(compiler: Compiler, node: MapLiteral) -> CodeValue:
    """Compile `{a: b, ?c: d}`."""
    compiler.writer.charge(_MAP_COST)
    result, may_fail = compiler.name("t"), False
    entries = []
    for entry in node.entries:
        key = compiler.atom(compiler.converted(compiler.visit(entry.key)))
        value = compiler.atom(compiler.converted(compiler.visit(entry.value)))
        may_fail = may_fail or key.may_fail or value.may_fail or entry.optional or key.type == DYN
        entries.append((key, value, entry.optional))
    mixed = any(not key.is_primitive for key, _, _ in entries)
    compiler.writer.line(f"{result} = {compiler.bind(MixedMap)}()" if mixed else f"{result} = {{}}")
    for key, value, optional in entries:
        if optional:
            compiler.writer.line(f"{compiler.bind(_insert_optional)}({result}, {key.code}, {value.code})")
        elif key.is_primitive:
            compiler.writer.line(f"{result}[{key.code}] = {value.code}")
        else:
            compiler.writer.line(f"{compiler.bind(_insert)}({result}, {key.code}, {value.code})")
    unsure = any(key.is_dyn or value.is_dyn for key, value, _ in entries)
    return CodeValue(result, map_of(DYN, DYN) if unsure else compiler.type_of(node), may_fail=may_fail)


def compile_struct(compiler: Compiler, node: StructLiteral) -> CodeValue:
    """Compile `a.b.C{d: e, ?f: g}`."""
    compiler.writer.charge(_STRUCT_COST)
    fields = compiler.name("t")
    members = [(field, compiler.atom(compiler.converted(compiler.visit(field.value)))) for field in node.fields]
    compiler.writer.line(f"{fields} = {{}}")
    for field, value in members:
        if field.optional:
            compiler.writer.line(f"{compiler.bind(_insert_optional)}({fields}, {field.name!r}, {value.code})")
        else:
            compiler.writer.line(f"{fields}[{field.name!r}] = {value.code}")
    kind = compiler.type_of(node)
    return compiler.assign(f"{compiler.bind(make_struct)}({compiler.bind(kind)}, {fields})", kind, may_fail=True)


def _require_optional_element(value: object) -> None:
    if not isinstance(value, OptionalValue):
        raise CelError(f"cannot initialize optional list element from non-optional value {value}")


def _insert(entries: dict[object, object], key: object, value: object) -> None:
    try:
        entries[key] = value
    except TypeError:
        raise CelError("unsupported key type") from None


def _insert_optional(entries: dict[object, object], key: object, value: object) -> None:
    if not isinstance(value, OptionalValue):
        raise CelError(f"cannot initialize optional entry '{key}' from non-optional value {value}")
    if value.present:
        _insert(entries, key, value.value)
    else:
        entries.pop(key, None)


def compile_functions(
    checked: CheckedAst,
    variables: Sequence[tuple[str, CodeValue]],
    functions: Mapping[str, Sequence[object]],
    constants: Mapping[int, object],
    *,
    counting: bool,
) -> tuple[str, dict[str, object]]:
    """Return the source of the functions that evaluate an expression, and their global variables.

    The function `evaluate` gets the values of `variables`. `constants` are the values of constant nodes by id.
    """
    compiler = Compiler(checked, functions, constants, _compile_node, counting=counting)
    return compiler.source(variables), compiler.globals


def _compile_node(compiler: Compiler, node: Expression) -> CodeValue:
    match node:
        case Identifier():
            return compile_identifier(compiler, node)
        case Select():
            return compile_select(compiler, node)
        case Call() if node.function in QUALIFIERS:
            return compile_index(compiler, node)
        case Constant():
            return compiler.constant(node.value)
    with compiler.chain(0):
        match node:
            case Call():
                return compile_call(compiler, node)
            case Comprehension():
                return compile_comprehension(compiler, node)
            case ListLiteral():
                return compile_list(compiler, node)
            case MapLiteral():
                return compile_map(compiler, node)
            case StructLiteral():
                return compile_struct(compiler, node)
