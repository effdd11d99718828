"""Signatures of functions without their implementation (cel-go common/decls)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Protocol

from apiext.schema.cel.types import DURATION, TIMESTAMP, CelType

_SIGNATURE: Final = re.compile(r"\s*(\w+): (?:(.+)\.)?\((.*)\) -> (.+)")
_ARGUMENT: Final = re.compile(r"[^,(]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?")
_SHORT: Final = {"duration": DURATION, "timestamp": TIMESTAMP}
_TYPE_PARAMETER: Final = re.compile(r"\b[A-Z]\b")


class Overloaded(Protocol):
    """The type checker's view of an overload."""

    @property
    def id(self) -> str:
        """Return the identifier, such as `add_int64`."""

    @property
    def parameters(self) -> tuple[CelType, ...]:
        """Return the types of the arguments, the receiver of a method first."""

    @property
    def result(self) -> CelType:
        """Return the type of the result."""

    @property
    def member(self) -> bool:
        """Return whether it is called as a method of its first argument."""

    @property
    def type_parameters(self) -> tuple[str, ...]:
        """Return the names of types that stand for any type."""

    @property
    def pattern_argument(self) -> int | None:
        """Return the index of the argument that is a regular expression."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of an overload; see Overloaded."""

    id: str
    parameters: tuple[CelType, ...]
    result: CelType
    member: bool
    type_parameters: tuple[str, ...]

    @property
    def pattern_argument(self) -> int | None:
        """Return the index of the argument that is a regular expression."""
        return 1 if self.id in {"matches", "matches_string"} else None


def parse_signature(text: str) -> Signature:
    """Parse `id: (types) -> type`, or `id: type.(types) -> type` for a method; single capital letters are type parameters.

    Raises:
        ValueError: The text has another form.

    """
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    identifier, receiver, arguments, result = match.groups()
    parameters = [parse_type(argument.strip()) for argument in _ARGUMENT.findall(arguments)]
    if receiver:
        parameters.insert(0, parse_type(receiver))
    names = sorted(set(_TYPE_PARAMETER.findall(text.partition(":")[2])))
    return Signature(identifier, tuple(parameters), parse_type(result), bool(receiver), tuple(names))


def parse_type(text: str) -> CelType:
    """Parse a type such as `map(string, list(duration))`."""
    name, _, rest = text.partition("(")
    if not rest:
        return _SHORT.get(name) or CelType(name)
    return CelType(name, tuple([parse_type(argument.strip()) for argument in _ARGUMENT.findall(rest[:-1])]))
