"""Functions for the macros with two variables, such as `transformMap` (cel-go ext/comprehensions.go)."""

from __future__ import annotations

from typing import Final

from apiext.base.meta.golang import formatting
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.library import Library, Overload
from apiext.schema.cel.types import CelType, map_of
from apiext.schema.cel.values.equality import MISSING, find


def _insert(entries: dict[object, object], key: object, value: object) -> dict[object, object]:
    """Add an entry to a comprehension's map. No other code sees the map before it is complete."""
    if find(entries, key) is not MISSING:
        raise CelError(f"insert failed: key {formatting.value(key)} already exists")
    entries[key] = value
    return entries


def _insert_all(entries: dict[object, object], others: dict[object, object]) -> dict[object, object]:
    for key, value in others.items():
        _insert(entries, key, value)
    return entries


_K: Final = CelType("K")
_V: Final = CelType("V")
_MAP: Final = map_of(_K, _V)

TWO_VARIABLE_COMPREHENSIONS: Final = Library(
    name="cel.lib.ext.comprev2",
    functions={
        "cel.@mapInsert": (
            Overload(
                id="@mapInsert_map_key_value",
                parameters=(_MAP, _K, _V),
                result=_MAP,
                implementation=_insert,
                type_parameters=("K", "V"),
            ),
            Overload(
                id="@mapInsert_map_map",
                parameters=(_MAP, _MAP),
                result=_MAP,
                implementation=_insert_all,
                type_parameters=("K", "V"),
            ),
        ),
    },
)
