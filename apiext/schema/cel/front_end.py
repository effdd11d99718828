"""From the text of an expression to its checked syntax tree."""

from __future__ import annotations

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.checking.checker import check
from apiext.schema.cel.checking.literal_validation import literal_issues
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.syntax.parser import parse
from apiext.schema.cel.syntax.source import CompileError, display_issues


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
