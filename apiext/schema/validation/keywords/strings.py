"""The keywords of strings: maxLength, minLength and pattern (validate/string.go). Of these, only the first violation is reported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from apiext.base.meta.field import ErrorType
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.validation.keywords.constraint import Constraint, Functions, constraint, reject
from apiext.schema.validation.result import Violation, invalid

if TYPE_CHECKING:
    from apiext.schema.validation.keywords.constraint import Node


def max_length(spec: Node, _: type) -> Constraint | None:
    """Limit the number of characters."""
    most: int | None = spec.raw.get("maxLength")
    if most is None:
        return None
    return constraint(
        lambda value: len(value) <= most,
        lambda value, name: Violation(ErrorType.TOO_LONG, name, f"{name} in body should be at most {most} chars long", value, limit=most),
        span=(0, most),
    )


def min_length(spec: Node, kind: type) -> Constraint | None:
    """Require a number of characters."""
    least: int | None = spec.raw.get("minLength")
    if least is None:
        return None
    return constraint(
        lambda value: len(value) >= least,
        lambda value, name: invalid(name, value, f"{name} in body should be at least {least} chars long"),
        span=(least, math.inf),
        hidden_by=[max_length(spec, kind)],
    )


def pattern(spec: Node, kind: type) -> Constraint | None:
    """Require a match of an expression. No string matches a malformed one."""
    expression: str = spec.raw.get("pattern") or ""
    if not expression:
        return None
    sizes = (max_length(spec, kind), min_length(spec, kind))
    try:
        compiled = compile_pattern(expression)
    except PatternError as error:
        problem = f"should match '{expression}, but pattern is invalid: {error}'"
        return constraint(reject, lambda value, name: invalid(name, value, f"{name} in body {problem}"), hidden_by=sizes)
    results, matches = compiled.results, compiled.matches
    return constraint(
        lambda value: type(value) is str and (results.get(value) or matches(value)),
        lambda value, name: invalid(name, value, f"{name} in body should match '{expression}'"),
        typed=True,
        hidden_by=sizes,
    )


STRINGS: Final[Functions] = {"maxLength": max_length, "minLength": min_length, "pattern": pattern}
