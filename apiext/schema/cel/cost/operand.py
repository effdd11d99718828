"""What the estimate of a call knows about its operands (cel-go checker.AstNode and CallEstimate)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apiext.schema.cel.ast import Expression
from apiext.schema.cel.cost.estimate import UNKNOWN, ZERO, Estimate
from apiext.schema.cel.types import CelType


class DeclarationPath:
    """The way from a variable to a value: the variable, then names of fields, `@items`, `@values`, `@keys` and `@indices`.

    Immutable like a tuple, with one exception. The reference appends to Go slices: two paths that extend a path of three, five to seven,
    nine to fifteen ... steps share their memory, and the later extension replaces the last step of the earlier one, too. Definitions
    were accepted with the limits that such paths lead to.
    """

    __slots__ = ("_length", "_steps")

    def __init__(self, steps: list[str], length: int) -> None:
        self._steps = steps
        self._length = length

    def then(self, step: str) -> DeclarationPath:
        """Return the path one step longer."""
        length, steps = self._length, self._steps
        if not length & (length - 1):
            steps = [*self.steps, step]
        elif length < len(steps):
            steps[length] = step
        else:
            steps.append(step)
        return DeclarationPath(steps, length + 1)

    def copy(self) -> DeclarationPath:
        """Return a path that shares no memory with this one."""
        return DeclarationPath(self.steps, self._length)

    @property
    def variable(self) -> str:
        """Return the first step."""
        return self._steps[0]

    @property
    def steps(self) -> list[str]:
        """Return the steps, the variable first."""
        return self._steps[: self._length]


NO_PATH = DeclarationPath([], 0)
"""The path of a value that is not a part of a variable."""

SizeOf = Callable[[DeclarationPath], Estimate | None]
"""Returns the size of the value at a path as its declaration limits it; None if it is not declared."""


@dataclass(frozen=True, slots=True)
class EntrySize:
    """Sizes of the keys and values of a map, or of the indices and items of a list."""

    is_list: bool
    key: Estimate
    value: Estimate

    def union(self, other: EntrySize) -> EntrySize:
        """Return the sizes that include both."""
        return EntrySize(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of a call, or the receiver of a method."""

    expression: Expression | None
    """None for the items of a list, which no expression stands for."""
    type: CelType
    path: DeclarationPath | None
    known_size: Estimate | None
    entries: EntrySize | None = None
    cost: Estimate = ZERO

    @property
    def size(self) -> Estimate:
        """Return the size."""
        return self.known_size or UNKNOWN


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """Cost of a call, without its operands unless it decides which of them are evaluated, and size of the result."""

    cost: Estimate
    size: Estimate | None = None
    entries: EntrySize | None = None
    includes_operands: bool = False


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call with one of its overloads."""

    function: str
    overload: str
    target: Operand | None
    arguments: list[Operand]
    size_of: SizeOf

    def declared_size(self, operand: Operand) -> Estimate:
        """Return the size of an operand, with another look at its declaration."""
        if operand.known_size is not None:
            return operand.known_size
        declared = None if operand.path is None else self.size_of(operand.path)
        return UNKNOWN if declared is None else declared
