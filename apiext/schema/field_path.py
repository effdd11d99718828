"""Field paths: of rules and selectable fields (apiserver/schema/cel ValidFieldPath), and of walks through an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from apiext.schema.model import Props

_PLAIN: Final = re.compile(r"[.\[\]]|[^.\[\]]+")
_QUOTED: Final = re.compile(r"'.*?(?<!\\)'", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}
_END: Final = "unexpected end of JSON path"
_NO_FIELD: Final = "does not refer to a valid field"


class FieldPathError(ValueError):
    """A malformed path, or one without a field in the schema. The text is the reference's."""


def resolve(path: str, schema: Props, *, arrays: bool = True) -> tuple[tuple[str, ...], Props | None]:
    """Return the steps of a path and the schema at its end, None if there is no schema object.

    `arrays` permits the notation ['name'] for a step.

    Raises:
        FieldPathError: the path is malformed, or has no field in the schema.
    """
    tokens = _tokens(path)
    steps: list[str] = []
    target: Props | None = schema
    for token in tokens:
        if token == "[":  # noqa: S105
            if not arrays:
                raise FieldPathError("array notation is not allowed")
            target = _step(target, _quoted(next(tokens, None)), steps)
            closing = next(tokens, None)
            if closing is None:
                raise FieldPathError(_END)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":  # noqa: S105
            name = next(tokens, None)
            if name is None:
                raise FieldPathError(_END)
            target = _step(target, name, steps)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return tuple(steps), target


def _tokens(path: str) -> Iterator[str]:
    position = 0
    while position < len(path):
        match = (_QUOTED if path[position] == "'" else _PLAIN).match(path, position)
        # An unterminated quote extends to the end of the path.
        end = match.end() if match else len(path)
        yield path[position:end]
        position = end


def _step(schema: Props | None, name: str, steps: list[str]) -> Props | None:
    properties = schema.get("properties") if schema is not None else None
    additional = schema.get("additionalProperties") if schema is not None else None
    if properties:
        if name not in properties:
            raise FieldPathError(_NO_FIELD)
        steps.append(f".{name}")
        child: Props = properties[name]
        return child
    if additional is None:
        raise FieldPathError(_NO_FIELD)
    steps.append(f"[{name}]")
    return additional if isinstance(additional, Mapping) else None


def _quoted(token: str | None) -> str:
    if token is None:
        raise FieldPathError(_END)
    if len(token) < 2 or not token.startswith("'") or not token.endswith("'"):
        raise FieldPathError(f"expected single quoted string but got {token}")
    return re.sub(r"\\.", _unescape, token[1:-1])


def _unescape(match: re.Match[str]) -> str:
    try:
        return _ESCAPES[match.group()[1]]
    except KeyError:
        raise FieldPathError(f"invalid string literal: invalid escape char {match.group()}") from None


class MapKey(str):
    """A map's key, which a path shows in brackets."""

    __slots__ = ()


class DottedPath:
    """A path as a chain of steps, each with its dot or brackets; empty for the object itself."""

    __slots__ = ("parent", "step")

    def __init__(self, parent: DottedPath | None = None, step: str = "") -> None:
        self.parent = parent
        self.step = step

    def __bool__(self) -> bool:
        return self.parent is not None

    def __str__(self) -> str:
        parts: list[str] = []
        path: DottedPath | None = self
        while path is not None:
            parts.append(path.step)
            path = path.parent
        return "".join(reversed(parts))


Location = tuple[Any, str | int] | None
"""Path of the parent and a member's name, a map's key or a list's index; None at the root."""


class LocationPath:
    """The path of a location, converted to text on demand."""

    __slots__ = ("location",)

    def __init__(self, location: Location) -> None:
        self.location = location

    def __str__(self) -> str:
        return path_of(self.location)


def path_of(location: Location) -> str:
    """Return the path in the form of field errors: `spec.list[0].labels[key]`."""
    parts: list[str] = []
    while location is not None:
        location, step = location
        if type(step) is str:
            parts.append(f".{step}" if location is not None else step)
        else:
            parts.append(f"[{step}]")
    return "".join(reversed(parts))
