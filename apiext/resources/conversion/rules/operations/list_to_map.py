"""Lists of objects to maps, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.operations.operation import EXACT, INEXACT, Reversible
from apiext.resources.conversion.rules.operations.walk import Change, at_values

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps, ListToMap, MapToList


def compile_list_to_map(rule: ListToMap) -> Reversible:
    """Return the functions of a rule."""
    return _operation(rule.path, rule.key, rule.value)


def compile_map_to_list(rule: MapToList) -> Reversible:
    """Return the functions of a rule."""
    return _operation(rule.path, rule.key, rule.value).reversed()


def _operation(path: FieldSteps, key: str, value: str | None) -> Reversible:
    return Reversible(at_values(path, _to_map(key, value)), at_values(path, _to_list(key, value)))


def _to_map(key: str, value: str | None) -> Change:
    """Return the change of a list to a map. Later items with the same key win; items without a key or a value have no place in a map."""

    def change(items: Any) -> tuple[Any, bool]:
        if type(items) is not list:
            return items, items is None
        is_exact = EXACT
        found: dict[str, Any] = {}
        for item in items:
            name = item.get(key) if type(item) is dict else None
            if type(name) is not str or (value is not None and value not in item):
                is_exact = INEXACT
                continue
            if value is None:
                del item[key]
                found[name] = item
            else:
                is_exact = is_exact and len(item) == 2
                found[name] = item[value]
        names = list(found)
        return found, is_exact and len(found) == len(items) and names == sorted(names)

    return change


def _to_list(key: str, value: str | None) -> Change:
    """Return the change of a map to a list. Values that are no objects have no place where the list's items are the values themselves."""

    def change(entries: Any) -> tuple[Any, bool]:
        if type(entries) is not dict:
            return entries, entries is None
        is_exact = EXACT
        items: list[Any] = []
        for name, entry in sorted(entries.items()):
            if value is not None:
                items.append({key: name, value: entry})
            elif type(entry) is dict:
                is_exact = is_exact and key not in entry
                items.append({key: name, **{member: inner for member, inner in entry.items() if member != key}})
            else:
                is_exact = INEXACT
        return items, is_exact

    return change
