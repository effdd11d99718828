"""Limits on the costs of CEL rules."""

import itertools
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.rule_definitions import INTEGER, mapping, ruled, several, struct
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

GROUP: Final = "costs.example.com"


COSTLY: Final = struct(
    spec=struct(
        big=ruled(several(INTEGER, maxItems=700), "self.all(x, self.all(y, x >= 0 && y >= 0 || x < y))"),
        **{
            f"many{number}": several(ruled(several(INTEGER, maxItems=180), "self.all(x, self.all(y, x >= 0))"), maxItems=60)
            for number in range(3)
        },
        said=ruled(
            several(INTEGER, maxItems=700),
            {"rule": "false", "messageExpression": "self.map(x, self.map(y, y + x).size()).size() > 1 ? 'a' : 'b'"},
        ),
    )
)


def test_budget(pair: Pair) -> None:
    """Stop at the limits of a call and of an object as kube-apiserver does."""
    one = crd("costs", version("v1", storage=True, schema=COSTLY), kind="Cost", group=GROUP, scope="Cluster")

    def create(**spec: Any) -> Step:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Cost", "metadata": {"name": "a"}, "spec": spec}
        return Step("POST", f"/apis/{GROUP}/v1/costs?dryRun=All", body)

    with pair.served(one):
        compared(
            pair,
            [
                create(big=[1] * 20),
                create(big=[1] * 700),
                create(many0=[[1] * 180] * 60),
                create(**{f"many{number}": [[1] * 180] * 60 for number in range(3)}),
                create(said=[1] * 20),
                create(said=[1] * 700),
            ],
        )


_LOOP: Final = "self.l.map(x, self.l.map(y, y).size()).size()"
BESIDE_FAILURES: Final = (
    f"(1 / self.z == {_LOOP}) || true",
    f"({_LOOP} == 1 / self.z) || true",
    f"1 / self.z > 1 && {_LOOP} > 1",
    f"1 / self.z > 1 ? {_LOOP} > 1 : true",
    f"self.z == 0 ? 1 / self.z > 1 : {_LOOP} > 1",
    f"[1 / self.z, {_LOOP}].size() > 1 || true",
    f"self.l[1000] == {_LOOP} || true",
    f"self.m['x'] == {_LOOP}",
    f"(1 / self.z) in [{_LOOP}] || true",
    f"'abc'.substring(1 / self.z, {_LOOP}) == 'a' || true",
    f"self.l.map(x, 1 / self.z)[{_LOOP}] == 1 || true",
    f"optional.of(1 / self.z).orValue({_LOOP}) == 1 || true",
    "self.l.map(x, 1 / self.z + self.l.map(y, y).size()).size() > 0 || true",
    "self.l.all(x, self.l.all(y, y / self.z > 0))",
)
"""Rules in which a failure is beside a loop that costs more than an evaluation may, over 700 elements."""


def test_costs_beside_failures(pair: Pair) -> None:
    """Count what is evaluated after a failure, and nothing else."""
    members = struct(l=several(INTEGER, maxItems=700), z=INTEGER, m=mapping(INTEGER, maxProperties=5))
    spec = struct(**{f"f{number}": ruled(members, rule) for number, rule in enumerate(BESIDE_FAILURES)})
    one = crd("besides", version("v1", storage=True, schema=struct(spec=spec)), kind="Beside", group=GROUP, scope="Cluster")
    with pair.served(one):
        for size, number in itertools.product((3, 700), range(len(BESIDE_FAILURES))):
            value = {"l": [1] * size, "z": 0, "m": {"a": 1}}
            body = {"apiVersion": f"{GROUP}/v1", "kind": "Beside", "metadata": {"name": "a"}, "spec": {f"f{number}": value}}
            compared(pair, [Step("POST", f"/apis/{GROUP}/v1/besides?dryRun=All", body)])
