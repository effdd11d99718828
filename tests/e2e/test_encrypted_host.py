"""A group moves from a host that encrypts it to an apiext that encrypts with other keys, and back."""

import base64
import json
from pathlib import Path

import pytest

from hack.lib.servers.aggregated_cluster import SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION
from hack.lib.servers.etcd import gateway
from tests.e2e.adopted_group import MERGE, Group
from tests.support.builders.encryption import IDENTITY, keyed, write_configuration

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

GROUP = "sealed.example.com"


def stored(url: str, key: str) -> bytes:
    """Return the stored value of a key."""
    (found,) = gateway(url, "kv/range", key=key.encode())["kvs"]
    return base64.b64decode(found["value"])


def contents(group: Group) -> dict[str, str]:
    """Return the objects by name, without their resourceVersions."""
    items = [{**item, "metadata": {**item["metadata"], "resourceVersion": ""}} for item in group.items()]
    return {item["metadata"]["name"]: json.dumps(item, sort_keys=True) for item in items}


def test_moves_a_group_of_a_host_that_encrypts(tmp_path: Path) -> None:
    """Refuse the take-over without the host's file. With it, move the objects, and give them back as the host stores them."""
    resources = [f"*.{GROUP}", "customresourcedefinitions.apiextensions.k8s.io"]
    hosts = write_configuration(tmp_path / "host.json", (resources, [keyed("aescbc", "host"), IDENTITY]))
    own = write_configuration(tmp_path / "own.json", (resources, [keyed("aesgcm", "own"), IDENTITY]))
    flag = "--encryption-provider-config"
    with AggregatedCluster(
        tmp_path,
        selector=SELECTOR,
        host_args=[f"{flag}={hosts}"],
        serve_args=[f"{flag}={own}"],
        operate_args=QUICK_ELECTION,
        host_etcd=True,
        controller_manager=False,
    ) as cluster:
        group = Group(cluster, GROUP)
        for name in ("one", "two"):
            group.create(name)
        before, key = contents(group), f"/registry/{GROUP}/widgets/default/one"
        at_host = stored(cluster.plane.etcd_url, key)
        assert at_host.startswith(b"k8s:enc:aescbc:v1:host:")
        group.label()
        group.until("Failed")
        assert "start the operator with --host-encryption-provider-config" in group.condition()[2]
        assert contents(group) == before
        assert "finalizers" not in group.crd["metadata"]

        cluster.operator.stop()
        cluster.operator = cluster.another_operator("informed", f"--host-encryption-provider-config={hosts}")
        cluster.operator.start()
        group.until("Serving")
        assert contents(group) == before
        assert stored(cluster.etcd.url, key).startswith(b"k8s:enc:aesgcm:v1:own:")
        cluster.host.must("PATCH", f"{group.where}/one", {"spec": {"replicas": 7}}, MERGE)
        changed = contents(group)
        group.hand_over()
        assert contents(group) == changed != before
        assert stored(cluster.plane.etcd_url, key).startswith(b"k8s:enc:aescbc:v1:host:")
        assert stored(cluster.plane.etcd_url, key) != at_host
