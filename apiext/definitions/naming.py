"""Which names a definition may have beside all others (apiextensions-apiserver pkg/controller/status/naming_controller.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.definitions.conditions import NAMES_ACCEPTED, Condition
from apiext.definitions.equality import same
from apiext.meta import go_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.definitions.definition import Definition
    from apiext.meta.json_codec import Object


@dataclass(slots=True)
class Taken:
    """Names that are accepted in a group."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)


def taken_names(definitions: Iterable[Definition], group: str) -> Taken:
    """All accepted names of a group."""
    taken = Taken()
    for definition in definitions:
        if definition.group == group:
            names = definition.head["status"]["acceptedNames"]
            taken.resources.update((names["plural"], names.get("singular", ""), *(names.get("shortNames") or ())))
            taken.kinds.update((names["kind"], names.get("listKind", "")))
    return taken


def needs_names(crd: Object) -> bool:
    """Whether the names that a definition asks for differ from those it has."""
    return not same(crd["spec"]["names"], crd["status"]["acceptedNames"])


def accept_names(crd: Object, taken: Taken) -> tuple[Object, Condition]:
    """The names a definition gets, as near to those it asks for as can be, and the condition NamesAccepted."""
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
            # A later conflict hides an earlier one.
            conflict = Condition(NAMES_ACCEPTED, "False", reason, problem)
        else:
            _copy(wanted, accepted, key)
    _copy(wanted, accepted, "categories")
    return accepted, conflict or Condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")


def _problem(wanted: str, has: str, used: set[str]) -> str:
    return "" if wanted == has or wanted not in used else f"{go_format.quote(wanted)} is already in use"


def _short_names_problem(wanted: Object, has: Object, used: set[str]) -> str:
    mine = has.get("shortNames") or ()
    problems = [_problem(name, "", used) for name in wanted.get("shortNames") or () if name not in mine]
    problems = list(dict.fromkeys(filter(None, problems)))
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _copy(source: Object, target: Object, key: str) -> None:
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)
