"""Types of CEL expressions (cel-go common/types/types.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CelType:
    """A type: a primitive, `list`, `map`, `type`, `optional_type`, an opaque type such as `kubernetes.Quantity`, or an object.

    `name` is the name that cel-go prints. Objects made from a schema are named after their place in it.
    """

    name: str
    parameters: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        """Return the type as cel-go prints it, such as `list(string)`."""
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name


BOOL: Final = CelType("bool")
INT: Final = CelType("int")
UINT: Final = CelType("uint")
DOUBLE: Final = CelType("double")
STRING: Final = CelType("string")
BYTES: Final = CelType("bytes")
NULL: Final = CelType("null_type")
DURATION: Final = CelType("google.protobuf.Duration")
TIMESTAMP: Final = CelType("google.protobuf.Timestamp")
DYN: Final = CelType("dyn")
ERROR: Final = CelType("!error!")
TYPE: Final = CelType("type")


def list_of(element: CelType) -> CelType:
    """Return the type of lists of an element type."""
    return CelType("list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps."""
    return CelType("map", (key, value))


def optional_of(value: CelType) -> CelType:
    """Return the type of optional values."""
    return CelType("optional_type", (value,))


def type_of(kind: CelType) -> CelType:
    """Return the type of a type name."""
    return CelType("type", (kind,))
