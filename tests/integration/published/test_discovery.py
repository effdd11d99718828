"""Tests that discovery of real definitions equals the reference's, field by field."""

from typing import Any, Final

import pytest

from hack.lib.real_crds import NO_REAL, REAL
from tests.integration.published.conftest import Reference
from tests.support.clients.published import READ_ONLY, Published, without_writes

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)]


@pytest.fixture
def published(reference: Reference) -> Published:
    """Return what apiext publishes for the definitions of the reference."""
    return Published(reference.definitions)


def _ours(published: Published) -> set[str]:
    return {group.name for group in published.groups}


def test_group_list(reference: Reference, published: Published) -> None:
    """List the groups at /apis in the reference's order."""
    theirs = [group for group in reference.get("/apis")["groups"] if group["name"] in _ours(published)]

    assert published.group_list()["groups"] == theirs


def test_groups(reference: Reference, published: Published) -> None:
    """Return equal documents at /apis/<group>."""
    listed = {group["name"]: group for group in published.group_list()["groups"]}

    for name, group in listed.items():
        assert {"kind": "APIGroup", "apiVersion": "v1", **group} == reference.get(f"/apis/{name}")


def test_resource_lists(reference: Reference, published: Published) -> None:
    """Return equal resources at /apis/<group>/<version>; the reference lists those of custom groups in no order."""
    for path, ours in published.resource_lists().items():
        theirs = reference.get(path)
        if READ_ONLY in path:
            theirs = without_writes(theirs)

        assert _sorted(ours) == _sorted(theirs)


def test_aggregated(reference: Reference, published: Published) -> None:
    """Return equal items in equal order in the aggregated document."""
    theirs = reference.get("/apis", Accept=AGGREGATED)
    items = [(item["metadata"]["name"], item) for item in theirs["items"]]
    theirs["items"] = [without_writes(item) if name == READ_ONLY else item for name, item in items if name in _ours(published)]

    assert published.aggregated() == theirs


def _sorted(resource_list: dict[str, Any]) -> dict[str, Any]:
    return {**resource_list, "resources": sorted(resource_list["resources"], key=lambda one: str(one["name"]))}
