"""Operands of calls (cel-go interpreter, evalBinary and evalVarArgs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiext.schema.cel.ast import Comprehension, Expression, children
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.errors import CelError

_Compile = Callable[[Expression], CodeValue]


def compile_operands(compiler: Compiler, nodes: Sequence[Expression], compile_one: _Compile) -> list[CodeValue]:
    """Compile the operands of a call, each by `compile_one`.

    As in the reference, the first failure ends a call of three or more operands, but of two both are evaluated, and the first failure
    counts. Only the costs of a loop make a difference.
    """
    if len(nodes) != 2 or not compiler.counting or not _has_loop(compiler, nodes[1]):
        return [compile_one(node) for node in nodes]
    writer, error = compiler.writer, compiler.name("e")
    writer.line(f"{error} = None")
    first = _absorbing(compiler, nodes[0], compile_one, f"{error} = x")
    second = _absorbing(compiler, nodes[1], compile_one, f"raise ({error} or x) from None")
    with writer.block(f"if {error} is not None:"):
        writer.line(f"raise {error}")
    return [first, second]


def _absorbing(compiler: Compiler, node: Expression, compile_one: _Compile, statement: str) -> CodeValue:
    """Compile an operand, and a statement for its failure `x`."""
    writer = compiler.writer
    depth, header = writer.depth, writer.placeholder()
    writer.depth += 1
    writer.line("pass")
    operand = compile_one(node)
    writer.depth -= 1
    writer.fill(header, "try:" if operand.may_fail else "if True:", depth)
    if operand.may_fail:
        with writer.block(f"except {compiler.bind(CelError)} as x:"):
            writer.line(statement)
    return operand


def _has_loop(compiler: Compiler, node: Expression) -> bool:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Comprehension):
            return True
        if part.id not in compiler.folded:
            pending.extend(children(part))
    return False
