"""Run-time values for JSON that a dict cannot represent (apiserver pkg/cel/common/valuesunstructured.go).

Associative: apiserver pkg/cel/common/values.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue


@dataclass(frozen=True, slots=True, eq=False)
class UnknownJson(OpaqueValue):
    """JSON without type information from a schema. It supports comparisons only."""

    cel_type = CelType("unknown")
    json: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownJson) and _same_json(self.json, other.json)

    __hash__ = None  # type: ignore[assignment]


def _same_json(left: Any, right: Any) -> bool:
    """Compare JSON of any depth; an integer differs from a double (Semantic.DeepEqual)."""
    pending = [(left, right)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pending += ((value, right[key]) for key, value in left.items())
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pending += zip(left, right, strict=True)
        elif type(left) is not type(right) or isinstance(left, dict | list) or left != right:
            return False
    return True


class MistypedJson:
    """Stands for JSON without a run-time value in a converted list or map. Only a comparison raises the error."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error

    def __eq__(self, other: object) -> bool:
        """Raise the error."""
        raise self.error

    def __hash__(self) -> int:
        """Raise the error."""
        raise self.error


class ObjectValue(dict[str, Any]):
    """A converted object: its non-null fields by escaped name. Unknown fields count for equality only."""

    __slots__ = ("size", "unknown")

    def __init__(self, fields: dict[str, Any], unknown: dict[str, UnknownJson], size: int) -> None:
        super().__init__(fields)
        self.unknown = unknown
        self.size = size
        """Number of members in JSON; there may be fewer fields."""


_SCALARS_ONLY: Final = "listSet operations are only supported on lists of scalar values"


class AssociativeList(list[Any]):
    """A list whose elements have keys. `key` returns the key of an element, or raises CelError."""

    __slots__ = ("key",)

    def __init__(self, elements: Iterable[Any], key: Callable[[Any], Hashable]) -> None:
        super().__init__(elements)
        self.key = key

    def by_key(self) -> dict[Hashable, Any]:
        """Return the elements by key. The last element with a key counts. Raises CelError."""
        return {self.key(element): element for element in self}

    def merged(self, other: Iterable[Any]) -> AssociativeList:
        """Return this list merged with another: new keys are appended, elements with a known key replaced. Raises CelError."""
        result = AssociativeList(self, self.key)
        places = {self.key(element): place for place, element in enumerate(self)}
        for element in other:
            place = places.setdefault(self.key(element), len(result))
            if place == len(result):
                result.append(element)
            else:
                result[place] = element
        return result


def set_key(element: Any) -> Hashable:
    """Return the key of a set's element.

    Raises:
        CelError: The element is a list or a map.
    """
    if isinstance(element, MistypedJson):
        # an error equals no other
        return object()
    if isinstance(element, list | dict):
        raise CelError(_SCALARS_ONLY)
    return type(element), element


def map_key(names: tuple[str, ...]) -> Callable[[Any], Hashable]:
    """Return the function that gets the key of an element by its map keys. `names` are escaped."""

    def key(element: Any) -> Hashable:
        fields = element if isinstance(element, dict) else {}
        values = (fields.get(name) for name in names)
        return tuple((type(value), repr(value) if isinstance(value, list | dict) else value) for value in values)

    return key
