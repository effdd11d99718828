"""Conversion by rules behind kube-apiserver, whose webhook has its certificate in files, and in apiext: equal answers, and nothing lost."""

import random
from collections.abc import Iterator

import pytest

from hack.lib.conversions.journey import Journey
from hack.lib.conversions.proof import define_conversions, gadget_case, installed
from hack.lib.conversions.round_trips import RoundTrips
from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.converted_plane import ConvertedPlane

pytestmark = pytest.mark.slow
_OBJECTS = 200


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Provide both servers with a CRD and its rules."""
    folder = tmp_path_factory.mktemp("answers")
    with ConvertedPlane(folder / "reference") as converted, ApiextServer(folder / "apiext") as server:
        opened = Pair(converted.plane, server)
        define_conversions(opened)
        with installed(converted, opened, gadget_case()):
            yield opened
        opened.close()


@pytest.mark.parametrize("first, second", [("v1", "v2"), ("v2", "v1")])
def test_rounds_of_many_objects(pair: Pair, first: str, second: str) -> None:
    """Answer alike about objects that are created in one version, changed in the other one, and listed in both; lose nothing."""
    crd = gadget_case().crd
    trips = RoundTrips(pair, crd, random.Random(first), first=first, second=second)  # noqa: S311 -- generates test data

    assert list(trips.problems(_OBJECTS // 2, prefix=first)) == []


def test_journeys_of_a_few_objects(pair: Pair) -> None:
    """Answer alike about every verb in both versions."""
    rng = random.Random(1)  # noqa: S311 -- as above
    journeys = [Journey(pair, gadget_case().crd, rng, name=f"n{number}", has_losses=False) for number in range(5)]

    assert [problem for journey in journeys for problem in journey.differences()] == []
