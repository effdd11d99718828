"""Compiles expressions node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from apiext.schema.cel.compiler.literals import compile_list, compile_map, compile_struct
from apiext.schema.cel.compiler.loops import compile_comprehension
from apiext.schema.cel.compiler.selections import QUALIFIERS, compile_identifier, compile_index, compile_select


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
