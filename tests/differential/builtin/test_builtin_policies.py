"""Mutating policies for scales of workloads against the reference."""

import itertools
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from hack.lib.waiting import until
from tests.differential.helpers.builtin_objects import builtin_objects, remove
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import must
from tests.support.builders import admission

pytestmark = pytest.mark.slow
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_DEPLOYMENT: Final = next(one for one in builtin_objects() if (one.resource.plural, one.name) == ("deployments", "web"))
_MUTATIONS: Final = {
    11: admission.applying("Object{spec: Object.spec{replicas: 7}}"),
    12: admission.json_patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: 7}]"),
    13: admission.json_patching("[JSONPatch{op: 'add', path: '/nothing', value: 7}]"),
}
"""Mutations by the replicas of the scales that meet them."""
_RULE: Final = admission.rule("deployments/scale", group="apps", operations=["UPDATE"])


def _policy(replicas: int, mutation: dict[str, Any]) -> list[dict[str, Any]]:
    name = f"scale-{replicas}"
    conditions = [{"name": "one", "expression": f"object.spec.replicas == {replicas}"}]
    made = admission.mutating_policy(name, mutation, rules=[_RULE], matchConditions=conditions)
    return [made, admission.mutating_binding(name, name)]


def _scaled(replicas: int) -> Step:
    return Step("PATCH", f"{_DEPLOYMENT.path}/scale?dryRun=All", {"spec": {"replicas": replicas}}, _MERGE)


def test_mutations_of_scales(builtin_pair: Pair) -> None:
    """Refuse apply configurations, for which the reference has no type, and apply JSON patches."""
    sides = (builtin_pair.reference, builtin_pair.ours)
    made = list(itertools.chain.from_iterable(_policy(*one) for one in _MUTATIONS.items()))
    try:
        for side in sides:
            must(side, Step("POST", _DEPLOYMENT.collection, _DEPLOYMENT.obj))
            for one in made:
                must(side, Step("POST", admission.collection(one["kind"]), one))
            for replicas in _MUTATIONS:
                step, unchanged = _scaled(replicas), f'"spec":{{"replicas":{replicas}}}'.encode()
                until(lambda side=side, step=step, text=unchanged: text not in side.raw(step)[1], f"effect on {step}")  # type: ignore[misc]
        assert_none([line for replicas in _MUTATIONS for line in builtin_pair.differences(_scaled(replicas))])
    finally:
        for side, one in itertools.product(sides, made):
            side.raw(Step("DELETE", f"{admission.collection(one['kind'])}/{one['metadata']['name']}"))
        remove(builtin_pair, _DEPLOYMENT)
