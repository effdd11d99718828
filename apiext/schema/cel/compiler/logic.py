"""Logical operators and conditions.

`&&` and `||` are commutative: false (true) on any side decides, and an error counts only if nothing decides. The first error counts.
"""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.ast import Call, Expression
from apiext.schema.cel.compiler.code_value import CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.compiler.selections import base_cost
from apiext.schema.cel.errors import NO_SUCH_OVERLOAD, CelError
from apiext.schema.cel.types import BOOL

AND: Final = "_&&_"
OR: Final = "_||_"


def compile_logic(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `a && b && c` or `a || b || c` as one sequence of tests."""
    writer = compiler.writer
    writer_depth = writer.depth
    result, error = compiler.name("t"), compiler.name("e")
    absorbed = may_fail = False
    reset = writer.placeholder()
    terms = _terms(node)
    with writer.block("while True:"):
        for place, term in enumerate(terms):
            term_fails = _compile_term(
                compiler, term, result, error if absorbed or place < len(terms) - 1 else "", node.function, first=not absorbed
            )
            may_fail = may_fail or term_fails
            absorbed = absorbed or (term_fails and place < len(terms) - 1)
        if absorbed:
            with writer.block(f"if {error} is not None:"):
                writer.line(f"raise {error}")
        writer.line(f"{result} = {node.function == AND}")
        writer.line("break")
    writer.fill(reset, f"{error} = None" if absorbed else "pass", writer_depth)
    return CodeValue(result, BOOL, may_fail=may_fail)


def _terms(node: Call) -> list[Expression]:
    """Return the operands of a tree of the same operator, from left to right."""
    terms: list[Expression] = []
    pending: list[Expression] = [node]
    while pending:
        term = pending.pop()
        if isinstance(term, Call) and term.function == node.function:
            pending.extend(reversed(term.arguments))
        else:
            terms.append(term)
    return terms


def _compile_term(compiler: Compiler, term: Expression, result: str, error: str, function: str, *, first: bool) -> bool:
    """Write one test; return whether it may fail. Without `error` a failure is not absorbed."""
    writer = compiler.writer
    depth, header = writer.depth, writer.placeholder()
    writer.depth += 1
    with writer.region():
        operand = compiler.visit(term)
        if operand.type != BOOL:
            operand = compiler.atom(compiler.converted(operand))
        may_fail = require_bool(compiler, operand) or operand.may_fail
        with writer.block(f"if {'not ' if function == AND else ''}{operand.code}:"):
            writer.line(f"{result} = {function == OR}")
            writer.line("break")
    writer.depth -= 1
    if not may_fail or not error:
        writer.fill(header, "if True:", depth)
        return may_fail
    writer.fill(header, "try:", depth)
    with writer.block(f"except {compiler.bind(CelError)} as x:"):
        if first:
            writer.line(f"{error} = x")
        else:
            writer.line(f"{error} = {error} or x")
    return True


def require_bool(compiler: Compiler, operand: CodeValue) -> bool:
    """Write the check that a value of unknown type is a bool; return whether it was necessary."""
    if operand.type == BOOL:
        return False
    with compiler.writer.block(f"if type({operand.code}) is not bool:"):
        compiler.writer.line(f"raise {compiler.bind(CelError)}({NO_SUCH_OVERLOAD!r})")
    return True


def compile_conditional(compiler: Compiler, node: Call) -> CodeValue:
    """Compile `a ? b : c`."""
    condition = compiler.atom(compiler.converted(compiler.visit(node.arguments[0])))
    may_fail = require_bool(compiler, condition) or condition.may_fail
    result = compiler.name("t")
    writer = compiler.writer
    branches: list[tuple[CodeValue, int, int]] = []
    for header, branch in zip((f"if {condition.code}:", "else:"), node.arguments[1:], strict=True):
        with writer.block(header), writer.region():
            operand = compiler.visit(branch)
            writer.charge(-base_cost(compiler, branch))
            branches.append((operand, writer.placeholder(), writer.depth))
    (left, *_), (right, *_) = branches
    same_shape = left.shape is not None and right.shape is not None and left.shape.schema is right.shape.schema
    shape = (
        left.shape
        if same_shape and left.shape is not None and right.shape is not None and left.shape.optional is right.shape.optional
        else None
    )
    for operand, place, depth in branches:
        code = operand.code
        if shape is None and operand.shape is not None and not operand.shape.is_plain:
            code = f"{compiler.bind(operand.shape.convert)}({code}, memo)"
            may_fail = True
        writer.fill(place, f"{result} = {code}", depth)
    may_fail = may_fail or left.may_fail or right.may_fail
    kind = (
        left.type
        if left.type == right.type
        else compiler.type_of(node)
        if not (left.is_dyn or right.is_dyn)
        else left.type
        if left.is_dyn
        else right.type
    )
    return CodeValue(result, kind, shape, may_fail, left.is_plain and right.is_plain and shape is None)
