"""Lists of type `set` and `map` in custom resources (apiserver pkg/cel/common/values.go).

Their comparison ignores the order, and `+` replaces elements with the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.json_values import MistypedJson

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
