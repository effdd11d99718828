"""Validation results (validate/result.go, errors/schema.go) and their conversion to field errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiext.base.meta import field
from apiext.base.meta.field import ErrorType, FieldError, Path
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_ERROR_CHARACTERS, MAX_VIOLATIONS


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated rule; name is the path of the value, message is the text that distinguishes violations."""

    type: ErrorType
    name: object
    message: str
    value: Any = ""
    limit: int = -1
    detail: str = ""


class Result:
    """Distinct violations in order of discovery, and the number of checks that the value matched.

    The number decides which branch of an anyOf or oneOf is reported: the best match.
    """

    __slots__ = ("_largest", "_size", "match_count", "violations")

    def __init__(self) -> None:
        self.violations: dict[str, Violation] = {}
        self.match_count = 0
        self._size = self._largest = 0

    @property
    def is_valid(self) -> bool:
        """Whether there is no violation."""
        return not self.violations

    @property
    def is_full(self) -> bool:
        """Whether there are enough violations to stop."""
        return len(self.violations) >= MAX_VIOLATIONS or self._size >= MAX_ERROR_CHARACTERS

    def add(self, violation: Violation | None) -> None:
        """Add a violation, unless it is None or known."""
        if violation is not None:
            self.violations.setdefault(violation.message, violation)
            self._count(len(violation.message))

    def _count(self, size: int) -> None:
        """Count the characters of a violation. One alone, however large, does not make the result full."""
        self._size, self._largest = self._size + min(size, self._largest), max(size, self._largest)

    def merge(self, other: Result) -> None:
        """Add the violations and the match count of another result."""
        self.match_count += other.match_count
        self._size += other._size
        self._count(other._largest)
        if other.violations and not self.violations:
            # A merged result is only asked whether it is valid.
            self.violations = other.violations
            return
        for message, violation in other.violations.items():
            self.violations.setdefault(message, violation)


def invalid(name: object, value: Any, message: str) -> Violation:
    """Return a violation that is reported with its message and the value."""
    return Violation(ErrorType.INVALID, name, message, "" if value is None else value)


def invalid_type(name: object, expected: str, actual: str) -> Violation:
    """Return the violation of a wrong type or format."""
    message = f"{name} in body must be of type {expected}: {formatting.quote(actual)}"
    return Violation(ErrorType.TYPE_INVALID, name, message, actual)


def composite(message: str) -> Violation:
    """Return the violation of a combination of schemas, which is reported at the root."""
    return Violation(ErrorType.INVALID, "", message)


def to_field_errors(base: str, result: Result) -> list[FieldError]:
    """Return violations as field errors below the base path, "" for the object itself (kubeOpenAPIResultToFieldErrors)."""
    return [_field_error(base, violation) for violation in result.violations.values()]


def _field_error(base: str, violation: Violation) -> FieldError:
    name = str(violation.name).removeprefix(".")
    path = Path(f"{base}.{name}" if base and name else base or name or "<nil>")
    if violation.type is ErrorType.REQUIRED:
        return field.required(path)
    if violation.type is ErrorType.NOT_SUPPORTED:
        return FieldError(violation.type, path, violation.value, violation.detail)
    if violation.type is ErrorType.TOO_LONG:
        return field.too_long(path, violation.limit)
    if violation.type is ErrorType.TOO_MANY:
        return field.too_many(path, violation.value, violation.limit)
    return FieldError(violation.type, path, violation.value, violation.message)
