"""The migration in the background of a group that apiext has adopted."""

from pathlib import Path

import pytest

from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION
from hack.lib.waiting import until
from tests.e2e.adopted_group import Group, Json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def add_v2(crd: Json) -> None:
    """Add a version that differs in its name."""
    (first,) = crd["spec"]["versions"]
    crd["spec"]["versions"].append({**first, "name": "v2", "storage": False})


def shown(group: Group) -> list[Json]:
    """Return the objects without resourceVersion."""
    return [{**item, "metadata": {**item["metadata"], "resourceVersion": ""}} for item in group.items()]


def stored_versions(group: Group) -> list[list[str]]:
    """Return the stored versions of the host's definition and of the mirror."""
    mirror = group.cluster.own().must("GET", f"{CRDS}/widgets.{group.name}")
    return [crd["status"]["storedVersions"] for crd in (group.crd, mirror)]


def numbers(group: Group) -> dict[str, int]:
    """Return the number of objects that apiext stores in each version."""
    found = group.cluster.own().must("GET", f"/stored/versions/widgets.{group.name}")
    return {version["name"]: version["objects"] for version in found["versions"]}


def test_migrates_an_adopted_group(tmp_path: Path) -> None:
    """Store the objects of an adopted group in the new version with --migrate=auto; the host decides about storedVersions."""
    with AggregatedCluster(
        tmp_path, selector=SELECTOR, serve_args=["--migrate=auto"], operate_args=QUICK_ELECTION, host_etcd=True
    ) as cluster:
        group = Group(cluster, "automatic.example.com", change=add_v2)
        for number in range(3):
            group.create(f"o{number}")
        group.label()
        group.until("Serving")
        before = shown(group)
        flipped = [version | {"storage": version["name"] == "v2"} for version in group.crd["spec"]["versions"]]
        group.change({"spec": {"versions": flipped}})

        until(lambda: numbers(group) == {"v1": 0, "v2": 3})
        until(lambda: stored_versions(group) == [["v1", "v2"]] * 2)
        assert shown(group) == before
        group.change({"status": {"storedVersions": ["v2"]}}, status=True)
        until(lambda: stored_versions(group) == [["v2"]] * 2)
