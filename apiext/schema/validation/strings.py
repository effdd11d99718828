"""Keywords of strings: length, pattern and format (validate/values.go, stringValidator and formatValidator)."""

from __future__ import annotations

from apiext.meta.field import ErrorType
from apiext.schema.pattern import PatternError, compile_pattern
from apiext.schema.strfmt.registry import format_checker
from apiext.schema.validation.result import Violation, invalid, invalid_type
from apiext.schema.validation.spec import Spec


def string_violation(spec: Spec, value: str, name: str) -> Violation | None:
    """The first of length and pattern that is wrong with a text."""
    length = len(value)
    if spec.max_length is not None and length > spec.max_length:
        message = f"{name} in body should be at most {spec.max_length} chars long"
        return Violation(ErrorType.TOO_LONG, name, message, value, limit=spec.max_length)
    if spec.min_length is not None and length < spec.min_length:
        return invalid(name, value, f"{name} in body should be at least {spec.min_length} chars long")
    if spec.pattern:
        try:
            if not compile_pattern(spec.pattern).matches(value):
                return invalid(name, value, f"{name} in body should match '{spec.pattern}'")
        except PatternError as error:
            text = f"{name} in body should match '{spec.pattern}, but pattern is invalid: {error}'"
            return invalid(name, value, text)
    return None


def has_format(spec: Spec) -> bool:
    """Whether texts must be of a format."""
    return format_checker(spec.format) is not None


def format_violation(spec: Spec, value: str, name: str) -> Violation | None:
    """What is wrong with the format of a text, if it has a known one."""
    check = format_checker(spec.format)
    return invalid_type(name, spec.format, value) if check is not None and not check(value) else None
