"""The rules of a Conversion object: how each version of a CRD relates to the hub version.

The rules of a spoke change an object of the spoke to one of the hub, one after the other. The way back takes the inverse of
each, in reverse order. A field that no rule names is the same in both versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP: Final = "conversions.apiext.dev"
API_VERSION: Final = f"{GROUP}/v1alpha1"
KIND: Final = "Conversion"
PLURAL: Final = "conversions"
DEFINITION: Final = f"{PLURAL}.{GROUP}"
"""The name of the CRD of Conversion objects."""
VALID: Final = "Valid"
"""The condition that a server sets once it knows a Conversion."""
CARRIED: Final = "conversion.apiext.dev/carried"
"""The annotation with what a version cannot hold."""

FieldSteps = tuple[str, ...]
"""The names on the way to a field; EACH stands for every item of a list or every value of a map."""
EACH: Final = "[*]"


class Side(StrEnum):
    """One of the two versions that a list of rules relates."""

    SPOKE = "spoke"
    HUB = "hub"


@dataclass(frozen=True, slots=True)
class Move:
    """Move a field, with everything below it. `rename` is a move within its parent. The inverse moves it back."""

    source: FieldSteps
    target: FieldSteps


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a field to a second one of the hub. The inverse removes the second one."""

    source: FieldSteps
    target: FieldSteps


@dataclass(frozen=True, slots=True)
class Default:
    """Set a field of one side where objects of the other side lack it. The inverse leaves a field that both versions have."""

    path: FieldSteps
    value: Any
    side: Side
    """The version whose field gets the value."""


@dataclass(frozen=True, slots=True)
class EnumMap:
    """Replace the values of a field. Values that are not mapped stay."""

    path: FieldSteps
    forth: tuple[tuple[Any, Any], ...]
    """Values of the spoke with those of the hub."""
    back: tuple[tuple[Any, Any], ...]
    """Values of the hub with those of the spoke: the inverse of `forth`, and what the author adds where it is ambiguous."""


@dataclass(frozen=True, slots=True)
class Wrap:
    """Put a value into an object with one field, or into a list with one item. The inverse takes it out."""

    path: FieldSteps
    member: str | None
    """The name of the field; None for a list."""


@dataclass(frozen=True, slots=True)
class Unwrap:
    """Replace an object by the value of one of its fields, or a list by its first item. The inverse wraps it."""

    path: FieldSteps
    member: str | None
    """The name of the field; None for a list."""


@dataclass(frozen=True, slots=True)
class Split:
    """Divide a text at a separator into several fields. The inverse joins them."""

    source: FieldSteps
    targets: tuple[FieldSteps, ...]
    separator: str
    last: bool = False
    """Whether to divide at the last separators instead of the first."""


@dataclass(frozen=True, slots=True)
class Join:
    """Join several texts with a separator to one field. The inverse splits it."""

    sources: tuple[FieldSteps, ...]
    target: FieldSteps
    separator: str
    last: bool = False
    """Whether the inverse divides at the last separators instead of the first."""


@dataclass(frozen=True, slots=True)
class ListToMap:
    """Make a list of objects a map by the value of one of their fields. The inverse is a list in the order of the keys."""

    path: FieldSteps
    key: str
    value: str | None
    """The field that becomes the map's value; None if the rest of the object does."""


@dataclass(frozen=True, slots=True)
class MapToList:
    """Make a map a list of objects in the order of the keys. The inverse is ListToMap."""

    path: FieldSteps
    key: str
    value: str | None
    """The field that gets the map's value; None if it is an object that gets the key as a field."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a field that the other version does not have, for good: it is not carried."""

    path: FieldSteps
    reason: str
    side: Side
    """The version that has the field."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Set a field to the value of a CEL expression, in which `self` is the whole object in the version it comes from.

    An empty optional removes the field.
    """

    path: FieldSteps
    expression: str


@dataclass(frozen=True, slots=True)
class Expressions:
    """Set fields of each side by CEL expressions, for what no other rule says."""

    to_hub: tuple[Assignment, ...]
    to_spoke: tuple[Assignment, ...]


FieldRule = Move | Copy | Default | EnumMap | Wrap | Unwrap | Split | Join | ListToMap | MapToList | Drop
Rule = FieldRule | Expressions


@dataclass(frozen=True, slots=True)
class Spoke:
    """How one version relates to the hub."""

    version: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class ConversionRules:
    """The spec of a Conversion object, for the CRD of its name."""

    name: str
    hub: str
    spokes: tuple[Spoke, ...]
    generation: int = 0
    """metadata.generation of the object; 0 for a file."""
    document: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The spec as it was written, from which worker processes make the rules again."""
