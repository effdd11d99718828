"""Acceptance of names within a group (apiextensions-apiserver pkg/controller/status/naming_controller.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_values
from apiext.base.meta.field import aggregate
from apiext.base.meta.golang import formatting
from apiext.resources.definitions.conditions import NAMES_ACCEPTED, Condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition


@dataclass(slots=True)
class AcceptedNames:
    """Accepted names in a group."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)


def accepted_names(definitions: Iterable[Definition], group: str) -> AcceptedNames:
    """Return all accepted names in a group."""
    taken = AcceptedNames()
    for definition in definitions:
        if definition.group == group:
            names = definition.head["status"]["acceptedNames"]
            taken.resources.update((names["plural"], names.get("singular", ""), *(names.get("shortNames") or ())))
            taken.kinds.update((names["kind"], names.get("listKind", "")))
    return taken


def needs_names(crd: Object) -> bool:
    """Report whether the spec's names differ from the accepted ones."""
    return not json_values.equal(crd["spec"]["names"], crd["status"]["acceptedNames"])


def accept_names(crd: Object, taken: AcceptedNames) -> tuple[Object, Condition]:
    """Return the names that a definition may use, and the condition NamesAccepted. A conflicting name keeps its accepted value."""
    wanted, has = crd["spec"]["names"], crd["status"]["acceptedNames"]
    accepted, conflict = dict(has), None
    for key, reason, used in (
        ("plural", "PluralConflict", taken.resources),
        ("singular", "SingularConflict", taken.resources),
        ("shortNames", "ShortNamesConflict", taken.resources),
        ("kind", "KindConflict", taken.kinds),
        ("listKind", "ListKindConflict", taken.kinds),
    ):
        problem = _short_names_problem(wanted, has, used) if key == "shortNames" else _problem(wanted.get(key, ""), has.get(key, ""), used)
        if problem:
            # As in the reference, the last conflict wins.
            conflict = Condition(NAMES_ACCEPTED, "False", reason, problem)
        else:
            _copy(wanted, accepted, key)
    _copy(wanted, accepted, "categories")
    return accepted, conflict or Condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")


def _problem(wanted: str, has: str, used: set[str]) -> str:
    return "" if wanted == has or wanted not in used else f"{formatting.quote(wanted)} is already in use"


def _short_names_problem(wanted: Object, has: Object, used: set[str]) -> str:
    mine = frozenset(has.get("shortNames") or ())
    problems = [problem for name in wanted.get("shortNames") or () if name not in mine and (problem := _problem(name, "", used))]
    return aggregate(problems) if problems else ""


def _copy(source: Object, target: Object, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
