"""Runs pairs of the tests on the reference."""

from typing import Any

from apiext.resources.evaluation.compiled_definition import DefinitionConverter
from hack.lib.foretell.predicted_run import PredictedRun
from hack.lib.foretell.release_pair import AppliedBodies, ReleasePair
from hack.lib.servers.controlplane import ControlPlane
from tests.support.builders.crds import definition
from tests.support.builders.definition_pairs import DefinitionPair

Json = dict[str, Any]


def predicted_run(
    plane: ControlPlane,
    pair: DefinitionPair,
    plural: str,
    *,
    conversion: Json | None = None,
    converter: DefinitionConverter | None = None,
    compares_configurations: bool = True,
) -> PredictedRun:
    """Return the run of a pair under names that no other pair has, with a conversion of the new definition."""
    old, new = (_named(pair.crd(versions, plural)) for versions in (pair.old, pair.new))
    new["spec"]["conversion"] = conversion or {"strategy": "None"}
    objects = tuple(
        AppliedBodies(tuple({"spec": spec} for spec in given.specs), given.version, given.status, given.metadata) for given in pair.objects
    )
    found = ReleasePair(pair.name, old, new, objects)
    return PredictedRun(
        plane, found, definition(old), definition(new), converter=converter, compares_configurations=compares_configurations
    )


def _named(crd: Json) -> Json:
    """Return a definition with names that no other pair has."""
    plural = crd["spec"]["names"]["plural"]
    kind = plural.capitalize()
    crd["spec"]["names"] = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return crd
