"""Conversion by rules behind kube-apiserver, whose webhook has its certificate in files, and in apiext: equal answers, and nothing lost."""

import random
from collections.abc import Iterator

import pytest

from hack.lib.conversions.cases import gadget_case
from hack.lib.conversions.proof import ServerProof, proof_servers

pytestmark = pytest.mark.slow
_OBJECTS = 200
_CASE = gadget_case()


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProof]:
    """Provide both servers with a CRD and its rules."""
    with proof_servers(tmp_path_factory.mktemp("answers"), [_CASE]) as started, started.installed(_CASE):
        yield started


@pytest.mark.parametrize("first, second", [("v1", "v2"), ("v2", "v1")])
def test_rounds_of_many_objects(proof: ServerProof, first: str, second: str) -> None:
    """Answer alike about objects that are created in one version, changed in the other one, and listed in both; lose nothing."""
    counts = proof.round_trips(_CASE, first, second, _OBJECTS // 2, seed=1)

    assert counts.problems == []
    assert counts.objects == _OBJECTS // 2
    assert 0 < counts.changed < counts.objects


def test_journeys_of_a_few_objects(proof: ServerProof) -> None:
    """Answer alike about every verb in both versions."""
    assert [*proof.journeys(_CASE, 5, random.Random(1))] == []  # noqa: S311 -- generates test data
