"""Merge types: the fields of a value, and the lists and maps with a single owner.

Mirrors structured-merge-diff schema/elements.go, and typed/helpers.go for the elements of list items. The parts of a type are made
on first use: of thousands of fields in a schema, an object uses a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

from apiext.base.meta.golang import formatting
from apiext.resources.managedfields import element

NUMERIC: Final = "numeric"
STRING: Final = "string"
BOOLEAN: Final = "boolean"
UNTYPED: Final = "untyped"

_NULL: Final = type(None)
_PYTHON_TYPES: Final = {
    NUMERIC: frozenset({int, float, _NULL}),
    STRING: frozenset({str, _NULL}),
    BOOLEAN: frozenset({bool, _NULL}),
    UNTYPED: frozenset({int, float, str, bool, _NULL}),
    "": frozenset({_NULL}),
}
_ABSENT: Final = object()

Field = tuple[str, "MergeType"]
"""The path element and the type of a field."""


class ItemError(ValueError):
    """A list item without a path element."""


class MapType:
    """How maps merge: objects with named fields, or maps of equal values."""

    def __init__(self, make: Callable[[], tuple[dict[str, MergeType], MergeType | None]], *, atomic: bool = False) -> None:
        self._make = make
        self.atomic = atomic
        """Whether the map has one owner."""

    def with_owner(self, *, atomic: bool) -> MapType:
        """Return the same map with or without one owner."""
        return MapType(self._make, atomic=atomic)

    @cached_property
    def _made(self) -> tuple[dict[str, Field], MergeType | None]:
        types, other = self._make()
        return {name: (f"f:{name}", merge_type) for name, merge_type in types.items()}, other

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Return the declared fields by name."""
        return self._made[0]

    @cached_property
    def types(self) -> dict[str, MergeType]:
        """Return the types of the declared fields by path element."""
        return dict(self.fields.values())

    @cached_property
    def element(self) -> MergeType | None:
        """Return the type of undeclared fields, None if there are none."""
        return self._made[1]

    @cached_property
    def scalars(self) -> dict[str, frozenset[object]]:
        """Return the Python types of valid values without parts, by declared field."""
        return {name: merge_type.scalars for name, (_, merge_type) in self.fields.items()}

    @cached_property
    def other_scalars(self) -> frozenset[object]:
        """Return the same for undeclared fields."""
        return frozenset() if self.element is None else self.element.scalars

    @cached_property
    def leaves(self) -> dict[str, str] | None:
        """Return the path elements of the fields by name. None if undeclared fields are allowed or a field may have parts."""
        if self.element is not None or any(merge_type.has_parts for _, merge_type in self.fields.values()):
            return None
        return {name: path_element for name, (path_element, _) in self.fields.items()}

    @cached_property
    def is_deduced(self) -> bool:
        """Return whether the map has only undeclared fields of any type."""
        return not self.fields and self.element is not None and self.element is not UNTYPED_ATOMIC and self.element.scalar == UNTYPED

    def field(self, name: str) -> Field:
        """Return path element and type of a valid value's field."""
        return self.fields.get(name) or (f"f:{name}", self.element or DEDUCED)


class ListType:
    """How lists merge: as a whole, as a set of scalars, or as a map by the items' keys."""

    def __init__(self, make: Callable[[], MergeType], *, associative: bool = False, keys: Iterable[str] = ()) -> None:
        self._make = make
        self.associative = associative
        """Whether items have their own owners."""
        self.keys = tuple(keys)
        """Names of the keys of a list map, none for a set."""
        self._prefix = f"k:{{{element.as_json(self.keys[0])}:" if self.keys else ""

    @cached_property
    def element(self) -> MergeType:
        """Return the type of the items."""
        return self._make()

    @cached_property
    def _key_parts(self) -> list[tuple[str, Any]]:
        """Return names and defaults of the keys, sorted by name."""
        return [(key, self._default(key)) for key in sorted(self.keys)]

    def _default(self, key: str) -> Any:
        items = self.element.map
        field = items.fields.get(key) if items is not None else None
        return _ABSENT if field is None or field[1].default is None else field[1].default

    def element_of(self, item: Any) -> str:
        """Return the path element of an item.

        Raises:
            ItemError: the item has none.
        """
        if not self.keys:
            return element.of_value(_set_item(item))
        if type(item) is dict and type(key := item.get(self.keys[0])) is str and len(self.keys) == 1:
            return f"{self._prefix}{element.as_json(key)}}}"
        return element.of_keys(self._item_keys(item))

    def check_item(self, item: Any) -> None:
        """Check that an item has a path element.

        Raises:
            ItemError: the item has none.
        """
        if self.keys:
            self._item_keys(item)
        else:
            _set_item(item)

    def text_of(self, item: Any) -> str:
        """Return the path element of an item as error messages print it.

        Raises:
            ItemError: the item has none.
        """
        return element.keys_text(self._item_keys(item)) if self.keys else element.value_text(_set_item(item))

    def _item_keys(self, item: Any) -> list[tuple[str, Any]]:
        if type(item) is not dict:
            kind = "a null element" if item is None else "non-map elements"
            raise ItemError(f"associative list with keys may not have {kind}")
        keys = [(name, value) for name, default in self._key_parts if (value := item.get(name, default)) is not _ABSENT]
        if not keys:
            names = " ".join(map(formatting.quote, self.keys))
            without = f"an element that omits all key fields [{names}] (and doesn't have default values for any key fields)"
            raise ItemError(f"associative list with keys has {without}")
        return keys


def _set_item(item: Any) -> Any:
    if type(item) is dict:
        raise ItemError("associative list without keys has an element that's a map type")
    if type(item) is list:
        raise ItemError("not supported: associative list with lists as elements")
    if item is None:
        raise ItemError("associative list without keys has an element that's an explicit null")
    return item


class MergeType:
    """The allowed kinds of values of a field: scalars, lists, maps. Most fields have one kind."""

    __slots__ = ("default", "list", "map", "scalar", "scalars")

    def __init__(self, scalar: str = "", list: ListType | None = None, map: MapType | None = None, default: Any = None) -> None:
        self.scalar = scalar
        """Kind of scalars, "" for none."""
        self.list = list
        self.map = map
        self.default = default
        """Default of the field that has the type, None for no default."""
        self.scalars = _PYTHON_TYPES[scalar]
        """Python types of valid values without parts; null is always valid."""

    @property
    def has_parts(self) -> bool:
        """Return whether parts of a value may have their own owners."""
        return (self.map is not None and not self.map.atomic) or (self.list is not None and self.list.associative)

    def kind(self, value: Any) -> type:
        """Return the kind by which to treat a value: dict, list, or str for scalars. Null and invalid values get an allowed kind."""
        if type(value) is list and self.list is not None:
            return list
        if self.scalar and value is not None and type(value) is not dict and type(value) is not list:
            return str
        if self.map is not None:
            return dict
        return str if self.scalar else list


UNTYPED_ATOMIC: Final[MergeType] = MergeType(
    UNTYPED,
    ListType(lambda: UNTYPED_ATOMIC),
    MapType(lambda: ({}, UNTYPED_ATOMIC), atomic=True),
)
"""Any value; the whole value has one owner."""
DEDUCED: Final[MergeType] = MergeType(
    UNTYPED,
    ListType(lambda: UNTYPED_ATOMIC),
    MapType(lambda: ({}, DEDUCED)),
)
"""Any value; fields of maps have their own owners."""
