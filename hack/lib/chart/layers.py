"""Lays the builds of several choices over each other: one tree, with a condition at each part that only some builds have."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Final

from hack.lib.chart.choices import OPTIONS, STORES, Choice, choices

_MOST_LITERALS: Final = 3


class IndistinctError(Exception):
    """No condition on the values tells the builds with a part from those without."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of the tree, and the condition of the builds that have it; empty for all of them."""

    condition: str
    node: "Fields | Items | Scalar"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, boolean or null."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping. A field whose value differs has several branches."""

    fields: Mapping[str, tuple[str, list[Branch]]]
    """The condition of each field, and its branches."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: list[Branch]


def layered(values: Mapping[Choice, Any]) -> list[Branch]:
    """Return the branches of the values of all choices.

    Raises:
        IndistinctError: no condition describes a difference.
    """
    groups: dict[str, dict[Choice, Any]] = {}
    for choice, value in values.items():
        group = type(value).__name__ if isinstance(value, dict | list) else json.dumps(value)
        groups.setdefault(group, {})[choice] = value
    return [Branch(condition_of(group, values), _node(group)) for group in groups.values()]


def _node(values: Mapping[Choice, Any]) -> Fields | Items | Scalar:
    """Return the node of values of one type."""
    first = next(iter(values.values()))
    if isinstance(first, dict):
        fields = {}
        for name in _in_order(values.values()):
            there = {choice: value[name] for choice, value in values.items() if name in value}
            fields[name] = (condition_of(there, values), layered(there))
        return Fields(fields)
    if isinstance(first, list):
        return Items(list(_items(values)))
    return Scalar(first)


def _items(values: Mapping[Choice, list[Any]]) -> Iterator[Branch]:
    by_name = all(len({_name(item) for item in value}) == len(value) and all(map(_name, value)) for value in values.values())
    keyed = {choice: {_name(item) if by_name else json.dumps(item): item for item in value} for choice, value in values.items()}
    for key in _in_order(keyed.values()):
        there = {choice: items[key] for choice, items in keyed.items() if key in items}
        condition = condition_of(there, values)
        for branch in layered(there):
            if condition and branch.condition:
                raise IndistinctError(f"{key}: the item and its content differ")
            yield Branch(condition or branch.condition, branch.node)


def _name(item: Any) -> str:
    return str(item.get("name", "")) if isinstance(item, dict) else ""


def _in_order(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return all keys, each after those that precede it in its mapping."""
    found: list[str] = []
    for mapping in mappings:
        place = 0
        for key in mapping:
            if key in found:
                place = found.index(key) + 1
            else:
                found.insert(place, key)
                place += 1
    return found


def condition_of(present: Collection[Choice], of: Collection[Choice]) -> str:
    """Return the simplest condition that holds for the present choices, and for no others of a collection; empty for all of it.

    Raises:
        IndistinctError: there is none of few parts.
    """
    if len(present) == len(of):
        return ""
    wanted = frozenset(present)
    literals = [(text, holding & frozenset(of)) for text, holding in _literals()]
    useful = [(text, holding) for text, holding in literals if wanted <= holding and len(holding) < len(of)]
    for count in range(1, _MOST_LITERALS + 1):
        for parts in combinations(useful, count):
            if frozenset.intersection(*(holding for _, holding in parts)) == wanted:
                texts = [text for text, _ in parts]
                return texts[0] if count == 1 else f"and {' '.join(f'({text})' if ' ' in text else text for text in texts)}"
    raise IndistinctError(f"no condition for {sorted(map(str, wanted))}")


@cache
def _literals() -> list[tuple[str, frozenset[Choice]]]:
    """Return conditions on one value with the choices for which they hold, the simple ones first."""
    every = frozenset(choices())
    found = []
    for option, value in OPTIONS.items():
        on = frozenset(choice for choice in every if option in choice.options)
        found += [(value, on), (f"not {value}", every - on)]
    for count in (1, len(STORES) - 1, 2):
        for stores in combinations(STORES, count):
            holding = frozenset(choice for choice in every if choice.store in stores)
            (rest, *_) = set(STORES) - set(stores)
            texts = {1: f'eq .Values.store "{stores[0]}"', len(STORES) - 1: f'ne .Values.store "{rest}"'}
            listed = " ".join(f'"{store}"' for store in stores)
            found.append((texts.get(count, f"has .Values.store (list {listed})"), holding))
    return found
