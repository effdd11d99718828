"""Field paths and field errors, which validation returns; errors.invalid turns them into a Status.

Mirrors apimachinery pkg/util/validation/field.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_ERROR_CHARACTERS, MAX_VIOLATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable


class Path:
    """The path of a value in an object: immutable, cheap to extend, converted to text on demand."""

    __slots__ = ("name", "parent", "subscript")

    def __init__(self, *names: object) -> None:
        self.parent: Path | None = None if not names[1:] else Path(*names[:-1])
        self.name: object = names[-1] if names else None
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

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if self.is_root:
            return "<nil>"
        parts: list[str] = []
        path: Path | None = self
        while path is not None:
            if path.name:
                parts.append(str(path.name))
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
    """The types of field errors. The value is the reason of the cause; messages begin with the label."""

    REQUIRED = "FieldValueRequired", "Required value"
    DUPLICATE = "FieldValueDuplicate", "Duplicate value"
    INVALID = "FieldValueInvalid", "Invalid value"
    NOT_SUPPORTED = "FieldValueNotSupported", "Unsupported value"
    FORBIDDEN = "FieldValueForbidden", "Forbidden"
    TOO_LONG = "FieldValueTooLong", "Too long"
    TOO_MANY = "FieldValueTooMany", "Too many"
    TYPE_INVALID = "FieldValueTypeInvalid", "Invalid value"
    INTERNAL = "InternalError", "Internal error"

    def __init__(self, reason: str, label: str) -> None:
        self.reason = reason
        self.label = label


@dataclass(frozen=True, slots=True)
class Printed:
    """A bad value in the form that messages show."""

    text: str


def typed_text(value: str | None) -> Printed:
    """Print a text as JSON, as Go does for named types and pointers. Go prints plain texts as %q."""
    return Printed(json_codec.dumps(value).decode())


OMITTED: Final = Printed("")
"""A bad value that messages do not show."""
_WITHOUT_VALUE: Final = frozenset({ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL})


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error about one field; the text is made on demand."""

    type: ErrorType
    path: object
    """The path as a Path or a text."""
    bad_value: Any = ""
    detail: str = ""

    @property
    def field(self) -> str:
        """Return the text of the path."""
        return str(self.path)

    def body(self) -> str:
        """Return the message without the field's path."""
        text = self.type.label
        if self.type not in _WITHOUT_VALUE and self.bad_value is not OMITTED:
            text += f": {_value(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> dict[str, str]:
        """Return the StatusCause of the error."""
        cause = {"reason": self.type.reason, "message": self.body()}
        path = self.field
        return cause | {"field": path} if path else cause

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return formatting.quote(value)
    if isinstance(value, Printed):
        return value.text
    if isinstance(value, float | bool):
        return formatting.value(value)
    return json_codec.dumps(value).decode()


def limited(errors: Iterable[FieldError]) -> list[FieldError]:
    """Return the first errors, up to MAX_VIOLATIONS errors or MAX_ERROR_CHARACTERS of text, that of the largest one excepted."""
    shown: list[FieldError] = []
    size = largest = 0
    for error in errors:
        shown.append(error)
        own = len(str(error))
        size, largest = size + min(own, largest), max(own, largest)
        if size >= MAX_ERROR_CHARACTERS or len(shown) == MAX_VIOLATIONS:
            break
    return shown


def aggregate(errors: Iterable[object]) -> str:
    """Return the distinct messages: one alone, several in brackets (apimachinery's aggregate error).

    The number and size of the errors must be limited.
    """
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def distinct(errors: list[FieldError]) -> list[FieldError]:
    """Return the first errors without repeated messages."""
    if len(errors) < 2:
        return errors
    first: dict[str, FieldError] = {}
    for error in limited(errors):
        first.setdefault(str(error), error)
    return list(first.values())


def required(path: object, detail: str = "") -> FieldError:
    """Return an error about a missing value."""
    return FieldError(ErrorType.REQUIRED, path, "", detail)


def invalid(path: object, value: Any, detail: str) -> FieldError:
    """Return an error about a malformed value."""
    return FieldError(ErrorType.INVALID, path, value, detail)


def duplicate(path: object, value: Any) -> FieldError:
    """Return an error about a repeated value that must be unique."""
    return FieldError(ErrorType.DUPLICATE, path, value)


def not_supported(path: Path, value: Any, supported: Iterable[object]) -> FieldError:
    """Return an error about a value outside an enumeration. Supported values are listed in the given order."""
    return FieldError(ErrorType.NOT_SUPPORTED, path, value, supported_values(supported))


def supported_values(supported: Iterable[object]) -> str:
    """Return the detail of an error about a value outside an enumeration."""
    quoted = ", ".join(formatting.quote(formatting.value(item)) for item in supported)
    return f"supported values: {quoted}" if quoted else ""


def forbidden(path: object, detail: str) -> FieldError:
    """Return an error about a value that other conditions forbid."""
    return FieldError(ErrorType.FORBIDDEN, path, "", detail)


def too_long(path: Path, max_length: int) -> FieldError:
    """Return an error about a string of more than max_length bytes.

    The message does not name a negative limit.
    """
    detail = f"may not be more than {max_length} {'byte' if max_length == 1 else 'bytes'}" if max_length >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, path, "<value omitted>", detail)


def too_many(path: Path, actual: int, max_items: int) -> FieldError:
    """Return an error about a list of more than max_items items.

    The message does not name a negative limit.
    """
    noun = "item" if max_items == 1 else "items"
    detail = f"must have at most {max_items} {noun}" if max_items >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, path, actual, detail)


def internal(path: object, detail: str) -> FieldError:
    """Return an error about a failure of the server itself."""
    return FieldError(ErrorType.INTERNAL, path, "", detail)
