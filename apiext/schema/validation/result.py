"""What validation found (validate/result.go, errors/schema.go), and its form as field errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from apiext.meta import go_format, json_codec
from apiext.meta.field import OMIT, ErrorType, FieldError

MOST: Final = 20_000
"""Violations after which no more members and items are looked at; the reference's time is over before it has told as many."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule; name is the dotted path of the value, message the sentence that tells errors apart."""

    type: ErrorType
    name: str
    message: str
    value: Any = ""
    limit: int = -1
    allowed: tuple[Any, ...] = ()


class Result:
    """Violations once each, in order of discovery, and how many checks the value went through.

    The count decides which branch of an anyOf or oneOf is reported: the one that matched best.
    """

    __slots__ = ("match_count", "violations")

    def __init__(self, *violations: Violation) -> None:
        self.violations = {violation.message: violation for violation in violations}
        self.match_count = 0

    @property
    def is_valid(self) -> bool:
        """Whether nothing was found."""
        return not self.violations

    @property
    def is_full(self) -> bool:
        """Whether so much was found that nobody wants to know more."""
        return len(self.violations) >= MOST

    def add(self, violation: Violation | None) -> None:
        """Add one violation, if there is one and it is new."""
        if violation is not None:
            self.violations.setdefault(violation.message, violation)

    def merge(self, other: Result) -> None:
        """Add another result's violations and count."""
        self.match_count += other.match_count
        if other.violations and not self.violations:
            # whoever has been merged is asked for nothing more than whether it is valid
            self.violations = other.violations
            return
        for message, violation in other.violations.items():
            self.violations.setdefault(message, violation)


def invalid(name: str, value: Any, message: str) -> Violation:
    """A violation reported with its sentence and the value."""
    return Violation(ErrorType.INVALID, name, message, "" if value is None else value)


def invalid_type(name: str, expected: str, actual: str) -> Violation:
    """A value of the wrong type, or a text of the wrong format."""
    message = f"{name} in body must be of type {expected}: {go_format.quote(actual)}"
    return Violation(ErrorType.TYPE_INVALID, name, message, actual)


def composite(message: str) -> Violation:
    """A broken rule about a combination of schemas; it is reported at the root."""
    return Violation(ErrorType.INVALID, "", message)


def to_field_errors(base: str, result: Result) -> list[FieldError]:
    """Violations as field errors below the base path, "" for the object itself (kubeOpenAPIResultToFieldErrors)."""
    return [_field_error(base, violation) for violation in result.violations.values()]


def _field_error(base: str, violation: Violation) -> FieldError:
    name = violation.name.removeprefix(".")
    field = f"{base}.{name}" if base and name else base or name or "<nil>"
    if violation.type is ErrorType.REQUIRED:
        return FieldError(ErrorType.REQUIRED, field)
    if violation.type is ErrorType.NOT_SUPPORTED:
        texts = (item if isinstance(item, str) else json_codec.dumps(item).decode() for item in violation.allowed)
        allowed = ", ".join(map(go_format.quote, texts))
        return FieldError(ErrorType.NOT_SUPPORTED, field, violation.value, f"supported values: {allowed}")
    limit = violation.limit
    if violation.type is ErrorType.TOO_LONG:
        unit = "byte" if limit == 1 else "bytes"
        detail = f"may not be more than {limit} {unit}" if limit >= 0 else "value is too long"
        return FieldError(ErrorType.TOO_LONG, field, "<value omitted>", detail)
    if violation.type is ErrorType.TOO_MANY:
        unit = "item" if limit == 1 else "items"
        detail = f"must have at most {limit} {unit}" if limit >= 0 else "has too many items"
        return FieldError(ErrorType.TOO_MANY, field, violation.value if violation.value >= 0 else OMIT, detail)
    return FieldError(violation.type, field, violation.value, violation.message)
