"""Expressions and declarations for tests of costs."""

from collections.abc import Iterator, Sequence
from typing import Any

from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.declarations import Declaration, DeclaredTypes, declare
from apiext.schema.cel.rule_compiler import compile_expression, rule_environment
from apiext.schema.cel.versions import stored_environment
from apiext.schema.model import Structural


def costed(expression: str, schema: dict[str, Any]) -> tuple[CheckedAst, Declaration]:
    """Return an expression over `self` and `oldSelf`, and the declaration of both."""
    (one,) = costed_many([expression], schema)
    return one


def costed_many(
    expressions: Sequence[str], schema: dict[str, Any], declaration: Declaration | None = None
) -> Iterator[tuple[CheckedAst, Declaration]]:
    """Yield expressions over `self` and `oldSelf`, and the declaration of both; `declaration` is that of the schema if it is known."""
    declaration = declaration or declare(Structural(schema), resource=schema.get("x-kubernetes-embedded-resource") is True)
    assert declaration is not None
    environment = rule_environment(stored_environment(), DeclaredTypes(declaration))
    for expression in expressions:
        yield compile_expression(expression, environment), declaration
