"""The functions, macros, types and variables that an expression may use (cel-go cel/env.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from apiext.schema.cel.signature import Overloaded
from apiext.schema.cel.syntax.macros import Macros
from apiext.schema.cel.types import CelType, type_of


class ObjectTypes(Protocol):
    """The types of objects with declared fields."""

    def __contains__(self, name: object, /) -> bool:
        """Tell whether a type with this name has declared fields."""

    def field(self, name: str, field_name: str, /) -> CelType | None:
        """Return the type of a field of a type."""

    def is_named(self, name: str, /) -> bool:
        """Tell whether expressions may refer to a type by its name."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Functions, macros, types and variables: the libraries of a Kubernetes version, and the caller's variables."""

    functions: Mapping[str, tuple[Overloaded, ...]]
    """Overloads by function name, in the order in which the type checker tries them."""
    macros: Macros
    identifiers: Mapping[str, CelType]
    """Types of variables and of type names (`type(int)` for `int`)."""
    optional_syntax: bool = False
    """Whether to allow `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`."""
    objects: ObjectTypes | None = None

    def with_variables(self, variables: Mapping[str, CelType], objects: ObjectTypes | None = None) -> Environment:
        """Return the environment with additional variables. Their types may be among `objects`."""
        return replace(self, identifiers={**self.identifiers, **variables}, objects=objects)

    def identifier(self, name: str) -> CelType | None:
        """Return the type of a variable, or `type(...)` for the name of a type."""
        found = self.identifiers.get(name)
        if found is None and self.objects is not None and self.objects.is_named(name):
            return type_of(CelType(name))
        return found

    def has_function(self, name: str) -> bool:
        """Tell whether there is a function or method of this name."""
        return name in self.functions

    def overloads(self, name: str) -> tuple[Overloaded, ...]:
        """Return the overloads of a function."""
        return self.functions[name]

    def pattern_argument(self, name: str) -> int | None:
        """Return the index of a function's argument that is a regular expression, counting the receiver."""
        return next((index for overload in self.functions[name] if (index := overload.pattern_argument) is not None), None)

    def is_object(self, kind: CelType) -> bool:
        """Tell whether a type has declared fields."""
        return self.objects is not None and kind.name in self.objects

    def field(self, kind: CelType, name: str) -> CelType | None:
        """Return the type of a field of an object, None if there is no such field."""
        return None if self.objects is None else self.objects.field(kind.name, name)
