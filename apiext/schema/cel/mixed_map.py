"""Maps with keys of several types (cel-go common/types/map.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from apiext.schema.cel.ast import Uint

_EQUAL_TYPES: Final[dict[type, tuple[type, ...]]] = {int: (int, Uint), Uint: (Uint, int), float: (float, int, Uint)}
"""Types of the keys that a number matches, its own type first."""


class MixedMap(dict[Any, Any]):
    """A map in which true, 1, 1u and 1.0 are four keys; for a dict they would be one. Look keys up with `find` of `equality.py`."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__((type(key), key), value)

    def __iter__(self) -> Iterator[Any]:
        return (key for _, key in super().__iter__())

    def items(self) -> Any:
        """Return keys and values."""
        return ((key, value) for (_, key), value in super().items())

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key or of an equal number, `default` if there is none. Raises TypeError if it cannot be a key."""
        for kind in _EQUAL_TYPES.get(type(key), (type(key),)):
            if (found := super().get((kind, key), default)) is not default:
                return found
        return default

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove a key if there is one."""
        return super().pop((type(key), key), default)
