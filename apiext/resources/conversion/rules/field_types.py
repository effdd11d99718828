"""The fields that a rule names, in the schemas of both versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.conversion.rules.model import EACH
from apiext.resources.conversion.rules.operations.split import PartType
from apiext.schema.model import Structural

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.inverse import MovedPaths
    from apiext.resources.conversion.rules.model import FieldSteps

_TEXT: Final = Structural({"type": "string"})
OPEN: Final = Structural({"x-kubernetes-preserve-unknown-fields": True})
"""The schema of fields that a version keeps without specifying them."""


class FieldTypes:
    """The schemas of the fields at one rule: before it as the spoke has them, after it as the hub has them."""

    def __init__(self, spoke: Structural, hub: Structural, moves: MovedPaths, position: int) -> None:
        """Name fields as at the rule at a position. `moves` are those of all rules of the spoke."""
        self._spoke = spoke
        self._hub = hub
        self._moves = moves
        self._position = position

    def in_spoke(self, path: FieldSteps) -> Structural | None:
        """Return the spoke's schema of a field as it is named before the rule, None if the spoke cannot have it."""
        origin = self._moves.before(path, self._position)
        return None if origin is None else schema_at(self._spoke, origin)

    def in_hub(self, path: FieldSteps) -> Structural | None:
        """Return the hub's schema of a field as it is named after the rule, None if the hub cannot have it."""
        place = self._moves.after(path, self._position + 1)
        return None if place is None else schema_at(self._hub, place)


def schema_at(schema: Structural, path: FieldSteps) -> Structural | None:
    """Return the schema of a field, None if objects cannot have it."""
    if path[0] == "metadata":
        return _TEXT
    found: Structural | None = schema
    for step in path:
        if found is None or found is OPEN:
            return found
        child = found.items or found.additional if step == EACH else found.properties.get(step) or found.additional
        found = OPEN if child is None and (found.preserve or found.has_additional) else child
    return found


def part_type(schema: Structural | None) -> PartType:
    """Return the type of a field that split and join write."""
    if schema is None:
        return PartType.TEXT
    if schema.raw.get("x-kubernetes-int-or-string") is True:
        return PartType.INTEGER_OR_TEXT
    kind = schema.raw.get("type")
    return PartType(kind) if kind in {"integer", "boolean"} else PartType.TEXT
