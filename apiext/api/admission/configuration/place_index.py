"""Finds what a request may concern, by the groups, resources and operations of rules.

Mirrors the rules of apiserver pkg/admission/plugin/webhook/predicates/rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from apiext.api.admission.matching.rules import Rule
from apiext.api.admission.sources import RequestPlace

_ANY: Final = "*"
MAX_PLACES: Final = 4096
"""Places whose entries are kept."""
_TWINS: Final = {("", "events"): ("events.k8s.io", "events"), ("events.k8s.io", "events"): ("", "events")}
"""Resources that serve the same objects in another group: rules for one may match requests for the other."""

Entry = TypeVar("Entry")


def _twins(place: RequestPlace) -> list[RequestPlace]:
    """Return a place, and the one that serves the same objects."""
    twin = _TWINS.get((place.group, place.resource))
    return [place] if twin is None else [place, place._replace(group=twin[0], resource=twin[1])]


@dataclass(slots=True, eq=False)
class _Placed(Generic[Entry]):
    order: tuple[str, int]
    entry: Entry
    rules: tuple[Rule, ...]


@dataclass(slots=True, eq=False)
class PlaceIndex(Generic[Entry]):
    """Entries by owner, found by places. A lookup visits only entries with rules for its group and resource, and is remembered."""

    _owned: dict[str, list[_Placed[Entry]]] = field(default_factory=dict)
    _by_key: defaultdict[tuple[str, str], dict[int, _Placed[Entry]]] = field(default_factory=lambda: defaultdict(dict))
    _found: dict[Hashable, tuple[Entry, ...]] = field(default_factory=dict)

    def put(self, owner: str, entries: Sequence[tuple[Entry, tuple[Rule, ...]]]) -> None:
        """Replace the entries of an owner."""
        self.remove(owner)
        placed = [_Placed((owner, number), entry, rules) for number, (entry, rules) in enumerate(entries)]
        for one in placed:
            for key in _keys(one):
                self._by_key[key][id(one)] = one
        if placed:
            self._owned[owner] = placed

    def remove(self, owner: str) -> None:
        """Remove the entries of an owner, if it has any."""
        self._found.clear()
        for one in self._owned.pop(owner, ()):
            for key in _keys(one):
                entries = self._by_key[key]
                entries.pop(id(one), None)
                if not entries:
                    del self._by_key[key]

    def find(self, place: RequestPlace) -> tuple[Entry, ...]:
        """Return the entries with a rule that matches a place, in the order of owners' names, then as they were put."""
        if not self._owned:
            return ()
        found = self._found.get(place)
        if found is None:
            if len(self._found) >= MAX_PLACES:
                self._found.clear()
            found = self._found[place] = self._search(place)
        return found

    def _search(self, place: RequestPlace) -> tuple[Entry, ...]:
        candidates: dict[int, _Placed[Entry]] = {}
        places = _twins(place)
        for group, resource in [(one.group, one.resource) for one in places]:
            for key in ((group, resource), (group, _ANY), (_ANY, resource), (_ANY, _ANY)):
                candidates.update(self._by_key.get(key) or {})
        matching = [one for one in candidates.values() if any(rule.covers(at) for rule in one.rules for at in places)]
        return tuple(one.entry for one in sorted(matching, key=lambda one: one.order))


def _keys(placed: _Placed[Any]) -> set[tuple[str, str]]:
    """Return the groups and resources under which an entry is indexed."""
    return {(group, resource) for rule in placed.rules for group in rule.groups or (_ANY,) for resource, _ in rule.resources}
