"""Field paths and field errors, which validation returns; errors.invalid turns them into a Status.

Mirrors apimachinery pkg/util/validation/field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import go_format, json_codec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Path:
    """The path of a value in an object: immutable, cheap to extend, converted to text on demand."""

    __slots__ = ("name", "parent", "subscript")

    def __init__(self, *names: str) -> None:
        self.parent: Path | None = None if not names[1:] else Path(*names[:-1])
        self.name: str | None = names[-1] if names else None
        self.subscript: str | None = None

    def child(self, name: str, *more: str) -> Path:
        """Return the path of a member; several names lead to a nested member."""
        path = _extend(self, name, None)
        for member in more:
            path = _extend(path, member, None)
        return path

    def index(self, position: int) -> Path:
        """Return the path of a list element."""
        return _extend(self, None, str(position))

    def key(self, name: str) -> Path:
        """Return the path of a map entry."""
        return _extend(self, None, name)

    @property
    def is_root(self) -> bool:
        """Return whether this is the path of the object itself."""
        return self.name is None and self.subscript is None

    def __str__(self) -> str:
        if self.is_root:
            return "<nil>"
        parts: list[str] = []
        path: Path | None = self
        while path is not None:
            if path.name:
                parts.append(path.name)
                if path.parent is not None:
                    parts.append(".")
            else:
                parts.append(f"[{path.subscript or ''}]")
            path = path.parent
        return "".join(reversed(parts))


def _extend(parent: Path, name: str | None, subscript: str | None) -> Path:
    path = Path.__new__(Path)
    path.parent = None if parent.is_root else parent
    path.name, path.subscript = name, subscript
    return path


ROOT: Final = Path()
"""Path of the object itself."""


class ErrorType(Enum):
    """The types of field errors: the value is the reason of the cause, the label begins messages."""

    REQUIRED = "FieldValueRequired", "Required value"
    DUPLICATE = "FieldValueDuplicate", "Duplicate value"
    INVALID = "FieldValueInvalid", "Invalid value"
    NOT_SUPPORTED = "FieldValueNotSupported", "Unsupported value"
    FORBIDDEN = "FieldValueForbidden", "Forbidden"
    TOO_LONG = "FieldValueTooLong", "Too long"
    TOO_MANY = "FieldValueTooMany", "Too many"
    TYPE_INVALID = "FieldValueTypeInvalid", "Invalid value"

    def __init__(self, reason: str, label: str) -> None:
        self.reason = reason
        self.label = label


@dataclass(frozen=True, slots=True)
class Printed:
    """A bad value in the form that messages show."""

    text: str


_WITHOUT_VALUE = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG})


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error about one field; the text is made on demand."""

    type: ErrorType
    field: str
    bad_value: Any = ""
    detail: str = ""

    def body(self) -> str:
        """Return the message without the field's path."""
        text = self.type.label
        if self.type not in _WITHOUT_VALUE:
            text += f": {_value(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> dict[str, str]:
        """Return the StatusCause of the error."""
        cause = {"reason": self.type.reason, "message": self.body()}
        return cause | {"field": self.field} if self.field else cause

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return go_format.quote(value)
    if isinstance(value, Printed):
        return value.text
    if isinstance(value, float | bool):
        return go_format.value(value)
    return json_codec.dumps(value).decode()


def aggregate(errors: Iterable[object]) -> str:
    """Return the distinct messages: a single one as it is, several in brackets (apimachinery's aggregate error)."""
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def distinct(errors: list[FieldError]) -> list[FieldError]:
    """Return the errors without repeated messages."""
    if len(errors) < 2:
        return errors
    first: dict[str, FieldError] = {}
    for error in errors:
        first.setdefault(str(error), error)
    return list(first.values())


def required(path: Path, detail: str = "") -> FieldError:
    """Return an error about a missing value."""
    return FieldError(ErrorType.REQUIRED, str(path), "", detail)


def invalid(path: Path, value: Any, detail: str) -> FieldError:
    """Return an error about a malformed value."""
    return FieldError(ErrorType.INVALID, str(path), value, detail)


def duplicate(path: Path, value: Any) -> FieldError:
    """Return an error about a repeated value that must be unique."""
    return FieldError(ErrorType.DUPLICATE, str(path), value)


def not_supported(path: Path, value: Any, supported: Iterable[object]) -> FieldError:
    """Return an error about a value outside an enumeration; the supported values are listed in the given order."""
    quoted = ", ".join(go_format.quote(go_format.value(item)) for item in supported)
    return FieldError(ErrorType.NOT_SUPPORTED, str(path), value, f"supported values: {quoted}" if quoted else "")


def forbidden(path: Path, detail: str) -> FieldError:
    """Return an error about a value that other conditions forbid."""
    return FieldError(ErrorType.FORBIDDEN, str(path), "", detail)


def too_long(path: Path, max_length: int) -> FieldError:
    """Return an error about a string of more than max_length bytes.

    The message does not name a negative limit.
    """
    detail = f"may not be more than {max_length} {'byte' if max_length == 1 else 'bytes'}" if max_length >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, str(path), "<value omitted>", detail)


def too_many(path: Path, actual: int, max_items: int) -> FieldError:
    """Return an error about a list of more than max_items items.

    The message does not name a negative limit.
    """
    noun = "item" if max_items == 1 else "items"
    detail = f"must have at most {max_items} {noun}" if max_items >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, str(path), actual, detail)
