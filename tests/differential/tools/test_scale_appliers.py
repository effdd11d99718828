"""Predictions about appliers of the scale, compared with what kube-apiserver then does."""

from http import HTTPStatus
from typing import Any

import pytest

from apiext.resources.evaluation.applied_configuration import SCALE, owners_of
from apiext.resources.evaluation.compiled_definition import CompiledDefinition, open_converters
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.releases.interface import SourceObject
from hack.lib.foretell.reference_run import APPLY, ReferenceRun
from hack.lib.foretell.release_pair import AppliedBodies, ReleasePair
from hack.lib.servers.controlplane import ControlPlane
from tests.support.builders.crds import crd, definition
from tests.support.builders.definition_pairs import INTEGER, root, v1

Json = dict[str, Any]
MANAGER = "scaler"


def _crd(plural: str, path: str) -> Json:
    fields = root(size=INTEGER, other=INTEGER, more=INTEGER | {"default": 7}, same=INTEGER, free=INTEGER | {"default": 3})
    scale = {"subresources": {SCALE: {"specReplicasPath": path, "statusReplicasPath": ".status.count"}}}
    return crd(plural, v1(fields, **scale if path else {}), kind=plural.capitalize(), group="scales.example.com")


@pytest.mark.slow
@pytest.mark.parametrize(
    "path, passes",
    [(".spec.size", True), (".spec.same", True), (".spec.free", False), (".spec.other", False), (".spec.more", False), ("", False)],
)
async def test_repeated_applies_of_the_scale(control_plane: ControlPlane, path: str, passes: bool) -> None:  # noqa: FBT001
    """Foretell whether an apply of a Scale passes once the replicas are elsewhere; take its configuration from the managers."""
    plural = f"scales{path.rpartition('.')[2]}"
    old, new = _crd(plural, ".spec.size"), _crd(plural, path)
    run = ReferenceRun(control_plane, ReleasePair(plural, old, new, (AppliedBodies(({"spec": {"size": 3, "same": 3}},)),)))
    run.create()
    config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "o0", "namespace": "default"}, "spec": {"replicas": 3}}
    at = run.path("v1", "o0", SCALE, f"?fieldManager={MANAGER}")
    run.client.must("PATCH", at, config, APPLY.items())
    live = run.client.must("GET", run.path("v1", "o0"))
    before, after = definition(old), definition(new)
    async with open_converters(before, after) as converters:
        judge = Judge(before, after, converters=converters)
        await judge.add([SourceObject("default/o0", live, is_stored=True)])
    run.change()
    code, answer = run.client.ask("PATCH", f"{at}&dryRun=All", config, APPLY.items())
    run.delete()

    (owner,) = [owner for owner in owners_of(live) if owner.name == MANAGER]
    assert owner.configuration(CompiledDefinition(before).version("v1"), live) == config
    assert (code == HTTPStatus.OK) is passes, answer
    assert [found.count for found in judge.report().findings if found.kind is FindingKind.APPLIER] == [1] * (not passes)
