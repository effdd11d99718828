"""Mutations of the versions of definitions."""

import copy
from typing import Any

import pytest

from hack.lib.foretell.release_mutations import RELEASE_MUTATIONS, ReleaseMutation, mutate_release
from tests.support.builders.crds import version
from tests.support.builders.seeds import seeded

Json = dict[str, Any]
RULED: Json = {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}


def _versions() -> list[Json]:
    return copy.deepcopy([version("v1", storage=True, schema=RULED, subresources={"status": {}}), version("v2", schema=RULED)])


@pytest.mark.parametrize("mutation", RELEASE_MUTATIONS, ids=lambda mutation: str(mutation.__name__))
@pytest.mark.parametrize("seed", range(6))
def test_each_mutation_keeps_a_served_and_one_stored_version(mutation: ReleaseMutation, seed: int) -> None:
    """Change something, and leave what a server accepts."""
    versions = _versions()

    assert mutation(versions, seeded(seed))
    assert versions != _versions()
    assert any(each["served"] for each in versions)
    assert sum(each["storage"] for each in versions) == 1


def test_some_mutation_applies_to_a_single_version() -> None:
    """Neither drop nor stop serving the only version."""
    for seed in range(20):
        versions = [version("v1", storage=True)]

        assert mutate_release(versions, seeded(seed))
        assert versions[0]["served"]
        assert versions[0]["name"] == "v1"
