"""The way back of a group to a kube-apiserver whose etcd nobody reaches, with the commands of the README."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.reference import binaries
from hack.lib.servers.aggregated_cluster import API_SERVICES, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION
from hack.lib.servers.process import environment
from hack.lib.waiting import until
from tests.e2e.adopted_group import MERGE, Group
from tests.support.document_commands import blocks, section

pytestmark = pytest.mark.slow
GROUP: Final = "example.com"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/apiext-system/deployments"
_OPERATOR: Final = {
    "metadata": {"name": "apiext-operator"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    },
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[AggregatedCluster]:
    """Provide a cluster whose operator has no access to the host's etcd."""
    with AggregatedCluster(tmp_path, selector=SELECTOR, operate_args=QUICK_ELECTION) as started:
        yield started


def run(cluster: AggregatedCluster, folder: Path, script: str) -> str:
    """Run a block of the README as an administrator, and return what it prints."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "apiext").write_text(f'#!/bin/sh\nPYTHONPATH="{Path.cwd()}" exec "{sys.executable}" -m apiext "$@"\n')
    (programs / "apiext").chmod(0o755)
    path = f"{programs}:{binaries.binary('kubectl').parent}:/usr/bin:/bin"
    env = environment(PATH=path, HOME=str(folder), KUBECONFIG=str(cluster.plane.kubeconfig))
    (folder / "cluster.kubeconfig").write_bytes(cluster.plane.kubeconfig.read_bytes())
    done = subprocess.run(["sh", "-ec", script], cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("of_store", [False, True], ids=["of-the-group", "of-the-store"])
def test_a_group_comes_back_from_a_backup(cluster: AggregatedCluster, tmp_path: Path, *, of_store: bool) -> None:
    """Bring back all objects after apiext is gone; those that the host had before keep their uids."""
    save, bring_back = blocks(section("manifests/README.md", "Leave without the host's etcd"), "sh")
    host, group = cluster.host, Group(cluster, GROUP)
    host.must("POST", DEPLOYMENTS, _OPERATOR)
    for name in ("kept", "changed", "deleted"):
        group.create(name)
    group.label()
    group.until("Serving")
    until(lambda: cluster.proxied(f"v1.{GROUP}"))
    host.must("PATCH", f"{group.where}/changed", {"spec": {"replicas": 7}, "metadata": {"labels": {"now": "other"}}}, MERGE)
    host.must("PATCH", f"{group.where}/changed/status", {"status": {"replicas": 6}}, MERGE)
    host.must("DELETE", f"{group.where}/deleted")
    owner = group.create("created", finalizers=["example.com/own"])
    reference = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "name": "created", "uid": owner["metadata"]["uid"]}
    group.create("owned", ownerReferences=[reference])
    before = {item["metadata"]["name"]: item for item in group.items()}

    run(cluster, tmp_path, f"apiext backup widgets.tar.gz --etcd-servers={cluster.etcd.url}" if of_store else save)
    cluster.operator.kill()
    cluster.apiext.kill()
    printed = run(cluster, tmp_path, bring_back)
    after = {item["metadata"]["name"]: item for item in group.items()}

    assert "service" not in host.must("GET", f"{API_SERVICES}/v1.{GROUP}")["spec"]
    assert f"not in the backup: widgets.{GROUP} default/deleted\n" in printed
    assert "created 2, replaced 1, there already 1\n" in printed
    assert after.keys() == {*before, "deleted"}
    assert {name: _content(after[name]) for name in before} == {name: _content(item) for name, item in before.items()}
    assert [after[name]["metadata"]["uid"] == before[name]["metadata"]["uid"] for name in before] == [
        name in {"kept", "changed"} for name in before
    ]
    assert [one["uid"] for one in after["owned"]["metadata"]["ownerReferences"]] == [after["created"]["metadata"]["uid"]]
    assert group.create("new")["metadata"]["uid"]


def _content(item: dict[str, Any]) -> dict[str, Any]:
    """Return what a client has written of an object; owners without uids."""
    metadata = {name: item["metadata"].get(name) for name in ("name", "namespace", "labels", "annotations", "finalizers")}
    owners = [one["name"] for one in item["metadata"].get("ownerReferences", ())]
    return {**item, "metadata": metadata | {"owners": owners}}
