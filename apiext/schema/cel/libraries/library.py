"""Declaration and implementation of functions (cel-go common/decls, interpreter/functions)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apiext.schema.cel.types import CelType

Implementation = Callable[..., object]
"""Takes the arguments, the receiver of a method first. Returns the result or raises CelError."""

Cost = Callable[[Sequence[object], object], int]
"""Returns the run-time cost of a call. Takes the arguments, the receiver of a method first, and the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """A function's signature, its implementation, and the cost of a call."""

    id: str
    """Identifier of cel-go or Kubernetes, such as `string_index_of_string`."""
    parameters: tuple[CelType, ...]
    """Types of the arguments, the receiver of a method first."""
    result: CelType
    implementation: Implementation | None = None
    """None for functions that the program itself implements: operators, and methods that may not evaluate their argument."""
    member: bool = False
    """Whether it is called as a method of its first argument."""
    guarded: bool = True
    """Whether a call with arguments of type dyn fails unless their types match. If not, the implementation decides."""
    type_parameters: tuple[str, ...] = ()
    """Names of types in `parameters` and `result` that mean any type."""
    cost: Cost | None = None
    """Run-time cost of a call; None costs 1."""
    undetermined_cost: Cost | None = None
    """Run-time cost if only the evaluation can choose among several overloads; None costs 1."""
    pattern_argument: int | None = None
    """Index of the argument that is a regular expression. A rule with an invalid constant one is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A set of functions that an environment includes or not."""

    name: str
    functions: Mapping[str, tuple[Overload, ...]] = field(default_factory=dict)
    """Overloads by the full name of their function, such as `charAt` or `sets.contains`."""
    types: tuple[CelType, ...] = ()
    """Types whose names are identifiers, as in `type(x) == net.IP`."""
