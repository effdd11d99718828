"""Names that a server does not accept, since another definition of the group has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.definitions import conditions
from apiext.definitions.controllers.naming import accepted_names
from apiext.definitions.controllers.reconcile import reconcile_status
from apiext.lab.releases.definition_creation import parse_definition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.definitions.definition import Definition


def name_conflicts(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> dict[str, str]:
    """Return what the server does not accept of the names of new definitions, and what follows, by definition.

    The definitions of `old` that `new` lacks stay. Conflicts that are there before are left out.
    """
    settled = dict(old) | {name: _wanted(old.get(name), definition) for name, definition in new.items()}
    # a name that one definition gives up is free for another one; each pass settles one of them at least
    for _ in range(len(new) + 1):
        before = {name: settled[name].head["status"] for name in new}
        for name in sorted(new):
            settled[name] = _reconciled(settled, name)
        if before == {name: settled[name].head["status"] for name in new}:
            break
    found: dict[str, str] = {}
    for name in new:
        problem = _problem(settled[name])
        if problem and (name not in old or problem != _problem(old[name])):
            effect = "the former names stay" if settled[name].is_established else "the definition is not served"
            found[name] = f"kube-apiserver does not accept the names, and {effect}: {problem}"
    return found


def _wanted(old: Definition | None, new: Definition) -> Definition:
    """Return a new definition before its names are accepted."""
    status = new.head["status"]
    if old is not None:
        kept = {name: old.head["status"][name] for name in ("acceptedNames", "conditions")}
    else:
        kept = {"acceptedNames": {"plural": "", "kind": ""}, "conditions": []}
    return parse_definition(new.object | {"status": status | kept})


def _reconciled(settled: Mapping[str, Definition], name: str) -> Definition:
    definition = settled[name]
    return parse_definition(reconcile_status(definition.object, accepted_names(settled.values(), definition.group)))


def _problem(definition: Definition) -> str:
    condition = definition.condition(conditions.NAMES_ACCEPTED)
    return str(condition["message"]) if condition is not None and condition["status"] == "False" else ""
