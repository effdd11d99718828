"""Declaration and implementation of functions (cel-go common/decls, interpreter/functions)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apiext.schema.cel.types import CelType

Implementation = Callable[..., object]
"""Gets the arguments, the receiver of a method first, and returns the result or raises CelError."""

Cost = Callable[[Sequence[object], object], int]
"""Returns the run-time cost of a call from its arguments, the receiver of a method first, and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """A signature of a function, what it does, and what a call costs."""

    id: str
    """Identifier of cel-go or Kubernetes, such as `string_index_of_string`."""
    parameters: tuple[CelType, ...]
    """Types of the arguments, the receiver of a method first."""
    result: CelType
    implementation: Implementation | None = None
    """None for what a program does itself: operators, and methods that do not always evaluate their argument."""
    member: bool = False
    """Whether it is called as a method of its first argument."""
    guarded: bool = True
    """Whether a call with arguments of type dyn fails unless their types fit; else the implementation decides."""
    type_parameters: tuple[str, ...] = ()
    """Names of types in `parameters` and `result` that stand for any type."""
    cost: Cost | None = None
    """Run-time cost of a call; None costs 1."""
    undetermined_cost: Cost | None = None
    """Run-time cost if the type checker left the choice among several overloads to the evaluation; None costs 1."""
    pattern_argument: int | None = None
    """Index of the argument that is a regular expression. A constant one must compile, else the rule is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A set of functions that an environment has or has not."""

    name: str
    functions: Mapping[str, tuple[Overload, ...]] = field(default_factory=dict)
    """Overloads by the full name of their function, such as `charAt` or `sets.contains`."""
    types: tuple[CelType, ...] = ()
    """Types whose names are identifiers, as in `type(x) == net.IP`."""
