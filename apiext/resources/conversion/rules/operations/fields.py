"""Access to one field of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.operations.operation import MISSING
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps


class FieldAccess:
    """Reads, removes and sets the field at a path without [*].

    `take` and `place` are inverse: one removes the parents that it empties, the other makes those that are missing. `spec` stays:
    most schemas require it.
    """

    __slots__ = ("_keeps_first", "_name", "_parents", "_path")

    def __init__(self, path: FieldSteps) -> None:
        self._path = path
        self._parents = path[:-1]
        self._name = path[-1]
        self._keeps_first = path[0] == "spec"

    def get(self, container: Any) -> Any:
        """Return the value, MISSING if there is none."""
        for name in self._parents:
            if type(container) is not dict:
                return MISSING
            container = container.get(name)
        return container.get(self._name, MISSING) if type(container) is dict else MISSING

    def parent(self, container: Any) -> dict[str, Any] | None:
        """Return the object around the field, None if it is missing."""
        for name in self._parents:
            if type(container) is not dict:
                return None
            container = container.get(name)
        return container if type(container) is dict else None

    def take(self, container: Any) -> Any:
        """Remove the field with the parents that become empty. Return its value, MISSING if there was none."""
        parent = self.parent(container)
        if parent is None:
            return MISSING
        value = parent.pop(self._name, MISSING)
        if not parent and value is not MISSING:
            self._remove_empty(container)
        return value

    def place(self, container: Any, value: Any) -> bool:
        """Set the field and make missing parents. Return whether `take` would undo this.

        Raises:
            ConversionError: a parent is no object.
        """
        is_exact = True
        parent = container
        is_kept = self._keeps_first
        for name in self._parents:
            child = parent.get(name, MISSING)
            if type(child) is not dict:
                if child is not MISSING and child is not None:
                    raise ConversionError(f"{path_text(self._path)} cannot be set: {name} is not an object")
                # `take` removes what was made, unless it is kept
                is_exact = is_exact and child is MISSING and not is_kept
                child = parent[name] = {}
            elif not child and not is_kept:
                # `take` would remove it
                is_exact = False
            parent = child
            is_kept = False
        if self._name in parent:
            is_exact = False
        parent[self._name] = value
        return is_exact

    def _remove_empty(self, container: Any) -> None:
        chain = [container]
        for name in self._parents:
            chain.append(chain[-1][name])
        for index in range(len(self._parents) - 1, -1 + self._keeps_first, -1):
            if chain[index + 1]:
                return
            del chain[index][self._parents[index]]
