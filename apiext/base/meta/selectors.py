"""Label and field selectors: requirements, and matching of objects.

Mirrors apimachinery pkg/labels and pkg/fields. The cost of a match depends on the object's labels, not on the number of requirements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar

_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")
_MAX_INT64: Final = 2**63 - 1
R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)
C = TypeVar("C", bound="_Conditions[Any]")


class Operator(StrEnum):
    """The operators of requirements (apimachinery pkg/selection)."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
"""Operators between a label and its values, by their symbols."""


def integer(text: str) -> int | None:
    """Return an int64 as Go's ParseInt reads it, None for anything else."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    number = int(match[1] + match[2])
    return number if -_MAX_INT64 - 1 <= number <= _MAX_INT64 else None


class _Conditions(Protocol[R_contra]):
    """The combined meaning of requirements."""

    def add(self, requirement: R_contra) -> None:
        """Add a requirement."""

    def matches(self, values: Mapping[str, str], /) -> bool:
        """Return whether labels or fields satisfy all requirements."""


class Selector(Generic[R, C]):
    """A selector: all requirements must hold; without any it selects everything. It keeps their combined meaning only."""

    __slots__ = ("_conditions", "size", "text")

    def __init__(self, conditions: C, text: str) -> None:
        self._conditions = conditions
        self.size = 0
        """The number of requirements."""
        self.text = text
        """Selectors with equal texts select the same objects."""

    def add(self, requirement: R) -> None:
        """Add a requirement."""
        self._conditions.add(requirement)
        self.size += 1

    @property
    def empty(self) -> bool:
        """Return whether the selector selects everything."""
        return not self.size

    def matches(self, values: Mapping[str, str]) -> bool:
        """Return whether labels or fields satisfy every requirement."""
        return self._conditions.matches(values)


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """A condition on one label; the values are sorted."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class LabelConditions:
    """The combined meaning of requirements, by label."""

    __slots__ = ("_above", "_absent", "_below", "_contradictory", "_excluded", "required")

    def __init__(self) -> None:
        self.required: dict[str, frozenset[str] | None] = {}
        """The labels that an object must have, with their possible values; None for any value."""
        self._absent: set[str] = set()
        self._excluded: dict[str, set[str]] = {}
        self._above: dict[str, int] = {}
        self._below: dict[str, int] = {}
        self._contradictory = False

    def add(self, requirement: LabelRequirement) -> None:
        """Add a requirement."""
        key, operator, values = requirement.key, requirement.operator, requirement.values
        match operator:
            case Operator.DOES_NOT_EXIST:
                self._absent.add(key)
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                self._excluded.setdefault(key, set()).update(values)
            case Operator.EXISTS:
                self.required.setdefault(key, None)
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                known = self.required.get(key)
                self.required[key] = possible = frozenset(values) if known is None else known.intersection(values)
                self._contradictory |= not possible
            case _:
                self.required.setdefault(key, None)
                self._bound(key, operator, integer(values[0]))

    def _bound(self, key: str, operator: Operator, bound: int | None) -> None:
        if bound is None:
            self._contradictory = True
        elif operator is Operator.GREATER_THAN:
            self._above[key] = max(bound, self._above.get(key, bound))
        else:
            self._below[key] = min(bound, self._below.get(key, bound))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels satisfy all requirements."""
        if self._contradictory or len(self.required) > len(labels):
            return False
        for key, possible in self.required.items():
            value = labels.get(key)
            if value is None or (possible is not None and value not in possible):
                return False
        keys = labels.keys()
        # operations of sets and dictionaries' keys cost as much as the smaller operand
        if self._absent and not keys.isdisjoint(self._absent):
            return False
        if self._excluded and any(labels[key] in self._excluded[key] for key in keys & self._excluded.keys()):
            return False
        return not (self._above or self._below) or self._within_bounds(labels)

    def _within_bounds(self, labels: Mapping[str, str]) -> bool:
        for key in self._above.keys() | self._below.keys():
            number = integer(labels[key])
            if number is None or not self._above.get(key, number - 1) < number < self._below.get(key, number + 1):
                return False
        return True


class LabelSelector(Selector[LabelRequirement, LabelConditions]):
    """A selector of labels."""

    __slots__ = ()

    def __init__(self, text: str = "") -> None:
        """Create a selector without requirements. `text` is its text; the caller adds its requirements."""
        super().__init__(LabelConditions(), text)

    @property
    def required(self) -> Mapping[str, frozenset[str] | None]:
        """Return the required labels with their possible values; None for any value."""
        return self._conditions.required


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A condition on one selectable field: equal or not equal; an absent field is empty."""

    field: str
    operator: Operator
    value: str


class FieldConditions:
    """The combined meaning of requirements, by field."""

    __slots__ = ("_contradictory", "_excluded", "fields", "required")

    def __init__(self) -> None:
        self.fields: dict[str, None] = {}
        """All fields, in the order of the requirements."""
        self.required: dict[str, str] = {}
        """The values that fields must have, the first one of contradictory ones."""
        self._excluded: dict[str, set[str]] = {}
        self._contradictory = False

    def add(self, requirement: FieldRequirement) -> None:
        """Add a requirement."""
        field, value = requirement.field, requirement.value
        self.fields[field] = None
        if requirement.operator is Operator.EQUALS:
            self._contradictory |= self.required.setdefault(field, value) != value
        else:
            self._excluded.setdefault(field, set()).add(value)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether the fields satisfy all requirements."""
        if self._contradictory:
            return False
        for field, value in self.required.items():
            if fields.get(field, "") != value:
                return False
        return not any(fields.get(field, "") in values for field, values in self._excluded.items())


class FieldSelector(Selector[FieldRequirement, FieldConditions]):
    """A selector of selectable fields."""

    __slots__ = ()

    def __init__(self, text: str = "") -> None:
        """Create a selector without requirements. `text` is its text; the caller adds its requirements."""
        super().__init__(FieldConditions(), text)

    @property
    def fields(self) -> Iterable[str]:
        """Return the fields of all requirements, each once, in their order."""
        return self._conditions.fields

    @property
    def required(self) -> Mapping[str, str]:
        """Return the required fields with their values."""
        return self._conditions.required

    def requires_exact(self, name: str) -> str | None:
        """Return the required value of a field, None if there is none."""
        return self._conditions.required.get(name)
