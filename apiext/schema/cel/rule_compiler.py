"""Compiles validation rules to checked syntax trees (apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go)."""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.checking.checker import check
from apiext.schema.cel.checking.literal_validation import literal_issues
from apiext.schema.cel.checking.program_validation import program_fault
from apiext.schema.cel.declarations import DeclaredTypes
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.syntax.parser import parse
from apiext.schema.cel.syntax.source import CompileError, display_issues
from apiext.schema.cel.types import BOOL, STRING, CelType, optional_of

_OLD_SELF: Final = "oldSelf"


def compile_expression(source: str, environment: Environment) -> CheckedAst:
    """Parse and check an expression.

    Raises:
        CompileError: The expression is not valid in this environment; its text is what cel-go displays.

    """
    expression, positions = parse(source, environment.macros, optional_syntax=environment.optional_syntax)
    ast = check(source, expression, positions, environment)
    issues = literal_issues(ast)
    if issues:
        raise CompileError(display_issues(source, issues))
    return ast


def rule_environment(base: Environment, types: DeclaredTypes, *, optional_old_self: bool = False) -> Environment:
    """Return the environment of the rules at a node of a schema: `base` with self and oldSelf."""
    old_self = optional_of(types.kind) if optional_old_self else types.kind
    return base.with_variables({"self": types.kind, _OLD_SELF: old_self}, types)


def check_rule(rule: str, environment: Environment) -> CheckedAst:
    """Return the checked form of a rule.

    Raises:
        CompileError: The rule is not valid; the text is the detail that the reference reports.
    """
    mistyped = "cel expression must evaluate to a bool"
    return _check(rule, environment, BOOL, mistyped=mistyped, compilation="compilation", program="program instantiation")


def check_message(expression: str, environment: Environment) -> CheckedAst:
    """Return the checked form of a rule's messageExpression.

    Raises:
        CompileError: The expression is not valid; the text is the detail that the reference reports.
    """
    mistyped = "messageExpression must evaluate to a string"
    step = "messageExpression"
    return _check(expression, environment, STRING, mistyped=mistyped, compilation=f"{step} compilation", program=f"{step} instantiation")


def _check(expression: str, environment: Environment, result: CelType, *, mistyped: str, compilation: str, program: str) -> CheckedAst:
    """Return a checked expression with this type of result. The texts name the failed step. Raise CompileError."""
    try:
        ast = compile_expression(expression, environment)
    except CompileError as error:
        raise CompileError(f"{compilation} failed: {error}") from None
    if ast.types[ast.expression.id] != result:
        raise CompileError(mistyped)
    fault = program_fault(ast, environment)
    if fault is not None:
        raise CompileError(f"{program} failed: {fault}")
    return ast


def uses_old_self(ast: CheckedAst) -> bool:
    """Tell whether an expression refers to oldSelf: its rule is then a transition rule."""
    return _OLD_SELF in ast.names.values()
