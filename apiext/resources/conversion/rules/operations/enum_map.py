"""Maps of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.operations.operation import EXACT, Reversible, Step
from apiext.resources.conversion.rules.operations.walk import at_values

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import EnumMap, FieldSteps

_Table = Mapping[tuple[type, Any], Any]
"""Values by those that they replace, with their types: true equals 1 in Python."""


def compile_enum(rule: EnumMap) -> Reversible:
    """Return the functions of a rule."""
    forth, back = _table(rule.forth), _table(rule.back)
    return Reversible(_mapping(rule.path, forth, back), _mapping(rule.path, back, forth))


def _table(pairs: tuple[tuple[Any, Any], ...]) -> _Table:
    return {(type(source), source): target for source, target in pairs}


def _mapping(path: FieldSteps, table: _Table, opposite: _Table) -> Step:
    known: dict[tuple[type, Any], tuple[Any, bool]] = {}
    for key, target in table.items():
        returned = opposite.get((type(target), target), target)
        known[key] = target, (type(returned), returned) == key

    def change(value: Any) -> tuple[Any, bool]:
        kind = type(value)
        if kind is dict or kind is list:
            return value, EXACT
        found = known.get((kind, value))
        return (value, (kind, value) not in opposite) if found is None else found

    return at_values(path, change)
