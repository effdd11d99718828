"""Values of nodes that do not depend on variables: literals, lists and maps of these, and their conversions (cel-go decOptimize).

They cost nothing at run time.
"""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.ast import (
    Call,
    CheckedAst,
    Constant,
    Expression,
    Identifier,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Select,
    post_order,
)
from apiext.schema.cel.standard.functions import CONVERSIONS, DYNAMIC
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.mixed_map import MixedMap
from apiext.schema.cel.values.run_time_values import OptionalValue

_CONVERSIONS: Final = frozenset(CONVERSIONS) | {"type", "dyn"}
_SET_MEMBERS: Final = (bool, int, float, str)


def fold(checked: CheckedAst) -> dict[int, object]:
    """Return the values of constant nodes by id.

    Raises:
        CelError: A conversion of a constant fails; the expression has no program then.
    """
    values: dict[int, object] = {}
    for node in post_order(checked.expression):
        _fold(node, checked, values)
    return values


def _fold(node: Expression, checked: CheckedAst, values: dict[int, object]) -> None:
    match node:
        case Constant():
            values[node.id] = node.value
        case Identifier() | Select() if checked.types.get(node.id, CelType("")).name == "type" and node.id in checked.names:
            values[node.id] = CelType(checked.names[node.id].removeprefix("."))
        case ListLiteral() if all(element.id in values for element in node.elements) and not node.optional_indices:
            values[node.id] = [values[element.id] for element in node.elements]
        case MapLiteral() if all(_is_constant_entry(entry, values) for entry in node.entries):
            entries = [(values[entry.key.id], values[entry.value.id]) for entry in node.entries]
            values[node.id] = _map(entries)
        case Call() if node.function in _CONVERSIONS and len(node.arguments) == 1 and node.arguments[0].id in values:
            values[node.id] = DYNAMIC[node.function](values[node.arguments[0].id])
        case Call() if node.function == "@in" and values.get(node.arguments[1].id) == []:
            values[node.id] = False
        case _:
            pass


def _map(entries: list[tuple[object, object]]) -> dict[object, object]:
    if len({type(key) for key, _ in entries}) <= 1:
        return dict(entries)
    mixed = MixedMap()
    for key, value in entries:
        mixed[key] = value
    return mixed


def _is_constant_entry(entry: MapEntry, values: dict[int, object]) -> bool:
    if entry.optional or entry.key.id not in values or entry.value.id not in values:
        return False
    return not isinstance(values[entry.key.id], list | dict | OptionalValue)


def is_set_literal(value: object) -> bool:
    """Return whether cel-go looks up members of a constant list in a set, which costs nothing."""
    return isinstance(value, list) and all(isinstance(element, _SET_MEMBERS) for element in value)
