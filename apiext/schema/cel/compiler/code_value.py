"""What the compiler knows of the value of an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, UINT, CelType
from apiext.schema.cel.values.json_conversion import Shape

PRIMITIVES: Final = frozenset({BOOL, BYTES, INT, UINT, STRING, TIMESTAMP, DURATION, DOUBLE})
_SIMPLE_TYPES: Final = PRIMITIVES | {NULL}


@dataclass(frozen=True, slots=True)
class CodeValue:
    """A value in the generated code."""

    code: str
    """A local variable or constant, or an expression without effects and errors that is used once."""
    type: CelType
    """Type that the value surely has, `dyn` if it is only known at run time."""
    shape: Shape | None = None
    """Set if `code` is JSON that stands for the value."""
    may_fail: bool = False
    """Whether the statements before may raise CelError."""
    plain: bool = False
    """Whether Python's equality is CEL's for the value, and for another plain one of its type."""

    @property
    def is_primitive(self) -> bool:
        """Return whether the value has a primitive type."""
        return self.type in PRIMITIVES

    @property
    def is_plain(self) -> bool:
        """Return whether Python's `==` may compare the value with another such value."""
        return self.plain or self.type in _SIMPLE_TYPES or (self.shape is not None and self.shape.is_plain and not self.shape.optional)

    @property
    def is_dyn(self) -> bool:
        """Return whether the type is not known."""
        return self.type.name in {"dyn", "any", "error", "!error!"} or self.type == DYN
