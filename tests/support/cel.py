"""Compilation of CEL expressions for tests."""

from collections.abc import Mapping

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.signature import parse_type
from apiext.schema.cel.versions import stored_environment


def checked(source: str, variables: Mapping[str, str] | None = None) -> CheckedAst:
    """Compile an expression; types of variables are written like `map(string, list(int))`.

    Raises:
        CompileError: The expression is not valid.

    """
    types = {name: parse_type(kind) for name, kind in (variables or {}).items()}
    return compile_expression(source, stored_environment().with_variables(types))
