"""The operator keeps a cluster's APIServices as apiext's definitions need them."""

import base64
import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.aggregated_cluster import API_SERVICES, CRDS, NAMESPACE, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION, ApiextOperator
from hack.lib.servers.certificates import Authority
from hack.lib.servers.kubectl import Kubectl
from hack.lib.servers.process import free_port
from hack.lib.waiting import until
from tests.support.builders.crds import versions_like, widget_crd

pytestmark = pytest.mark.slow
GROUP: Final = "operated.example.com"
NAME: Final = f"v1.{GROUP}"
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/apiext-operator"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AggregatedCluster]:
    """Provide a cluster with an operator, and a folder of definitions."""
    folder = tmp_path_factory.mktemp("operator")
    (folder / "crds").mkdir()
    _write(folder, "widgets", widget_crd(group=GROUP))
    with AggregatedCluster(folder, crd_dir=folder / "crds", controller_manager=False, operate_args=QUICK_ELECTION) as started:
        until(lambda: started.available(NAME))
        yield started


def _write(folder: Path, name: str, crd: Json) -> None:
    new = folder / f"{name}.new"
    new.write_text(json.dumps(crd))
    new.replace(folder / "crds" / f"{name}.json")


def _found(cluster: AggregatedCluster, name: str) -> Json | None:
    code, found = cluster.host.ask("GET", f"{API_SERVICES}/{name}")
    return found if code == 200 else None


def _preferred(cluster: AggregatedCluster, group: str) -> list[str]:
    code, found = cluster.host.ask("GET", f"/apis/{group}")
    return [one["version"] for one in found["versions"]] if code == 200 else []


def _is_right(cluster: AggregatedCluster, found: Json | None) -> bool:
    """Return whether an APIService is as the operator writes it."""
    if found is None:
        return False
    spec, service = found["spec"], {"namespace": NAMESPACE, "name": "apiext", "port": cluster.apiext.port}
    ours = found["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "apiext"
    return ours and bool(spec.get("caBundle")) and spec["service"] == service and spec["versionPriority"] == 100


def _holder(cluster: AggregatedCluster) -> str:
    return str(cluster.host.must("GET", LEASE)["spec"].get("holderIdentity", ""))


def _status(port: int, path: str) -> tuple[int, str]:
    """Return the answer of an operator's endpoint."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def _acquisitions(operator: ApiextOperator) -> int:
    """Return how often an operator has acquired the lease."""
    return operator.log.count('"leader lease acquired"')


def test_registers_a_group(cluster: AggregatedCluster) -> None:
    """Register a group of the folder, and serve its objects through the host."""
    found = _found(cluster, NAME)

    assert found is not None
    assert _is_right(cluster, found)
    assert (found["spec"]["groupPriorityMinimum"], found["spec"]["versionPriority"]) == (1000, 100)
    assert cluster.host.ask("GET", f"/apis/{GROUP}/v1/widgets")[0] == 200


def test_follows_versions(cluster: AggregatedCluster) -> None:
    """Follow new groups, new versions and versions that are not served any more, in the order of a definition's versions."""
    group = "versions.example.com"
    crd = widget_crd(group=group)
    _write(cluster.folder, "versions", crd)
    until(lambda: cluster.available(f"v1.{group}"))

    crd["spec"]["versions"] = versions_like("v1beta1", "v2", "v1", "v10")(crd["spec"]["versions"][0])
    _write(cluster.folder, "versions", crd)
    until(lambda: _preferred(cluster, group) == ["v10", "v2", "v1", "v1beta1"])

    for version in crd["spec"]["versions"]:
        version["served"] = version["name"] != "v2"
    _write(cluster.folder, "versions", crd)
    until(lambda: _found(cluster, f"v2.{group}") is None)
    assert _found(cluster, f"v10.{group}") is not None

    cluster.own().must("DELETE", f"{CRDS}/widgets.{group}")
    until(lambda: not any(_found(cluster, f"{version}.{group}") for version in ("v1beta1", "v1", "v10")))


def test_repairs_drift(cluster: AggregatedCluster, kubectl: Kubectl) -> None:
    """Repair changed and deleted APIServices, and record an event."""
    path = f"{API_SERVICES}/{NAME}"
    wrong: list[Json] = [
        {"spec": {"caBundle": None, "insecureSkipTLSVerify": True}},
        {"spec": {"service": {"port": 1}, "versionPriority": 5}},
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": None, "more": "labels"}}},
    ]
    for change in wrong:
        cluster.host.must("PATCH", path, change, MERGE)
        until(lambda: _is_right(cluster, _found(cluster, NAME)))
    until(lambda: "Repaired: spec.versionPriority, spec.service" in kubectl("describe", "apiservice", NAME))

    uid = cluster.host.must("GET", path)["metadata"]["uid"]
    cluster.host.must("DELETE", path)
    until(lambda: _is_right(cluster, found := _found(cluster, NAME)) and (found or {})["metadata"]["uid"] != uid)
    until(lambda: cluster.available(NAME))


def test_leaves_foreign_api_services_alone(cluster: AggregatedCluster, kubectl: Kubectl) -> None:
    """Leave an APIService of another server unchanged, record an event, and register the group after its deletion."""
    group = "others.example.com"
    spec = {"group": group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10, "insecureSkipTLSVerify": True}
    spec["service"] = {"namespace": "default", "name": "other", "port": 443}
    name = f"v1.{group}"
    cluster.host.must("POST", API_SERVICES, {"metadata": {"name": name}, "spec": spec})
    cluster.own().must("POST", CRDS, widget_crd(group=group))

    until(lambda: "points at Service default/other and is left alone" in kubectl("describe", "apiservice", name))
    found = _found(cluster, name)
    assert found is not None
    assert found["spec"] == spec

    cluster.host.must("DELETE", f"{API_SERVICES}/{name}")
    until(lambda: cluster.available(name))


def test_leaves_the_hosts_own_groups_alone(cluster: AggregatedCluster, kubectl: Kubectl) -> None:
    """Leave a group of the host's own definitions to the host, and write nothing to them."""
    group = "local.example.com"
    name = f"v1.{group}"
    cluster.host.must("POST", CRDS, widget_crd(group=group))
    until(lambda: cluster.available(name) or cluster.host.ask("GET", f"/apis/{group}/v1/widgets")[0] == 200)
    cluster.own().must("POST", CRDS, widget_crd(group=group))

    until(lambda: "apiext has definitions of local.example.com/v1, too" in kubectl("describe", "apiservice", name))
    crd = cluster.host.must("GET", f"{CRDS}/widgets.{group}")
    assert cluster.host.must("GET", f"{API_SERVICES}/{name}")["spec"].get("service") is None
    assert {"annotations", "finalizers", "labels"}.isdisjoint(crd["metadata"])


def test_follows_the_ca_file(cluster: AggregatedCluster) -> None:
    """Write a changed CA file to all APIServices without a restart, and keep the last bundle for an invalid file."""
    path = cluster.authority.cert
    before = path.read_text()
    path.write_text(before + Authority(cluster.folder / "next", "next-serving-ca").cert.read_text())
    bundle = base64.b64encode(path.read_bytes()).decode()
    until(lambda: (_found(cluster, NAME) or {})["spec"]["caBundle"] == bundle)

    path.write_text("rubbish")
    until(lambda: "invalid CA bundle file, keeping the last bundle" in cluster.operator.log)
    assert (_found(cluster, NAME) or {})["spec"]["caBundle"] == bundle
    path.write_text(before)
    until(lambda: (_found(cluster, NAME) or {})["spec"]["caBundle"] != bundle)
    until(lambda: cluster.available(NAME))


def test_survives_a_restart_of_the_host(cluster: AggregatedCluster) -> None:
    """Follow changes again after a restart of the host."""
    cluster.plane.restart_apiserver()
    group = "restarted.example.com"
    cluster.own().must("POST", CRDS, widget_crd(group=group))
    until(lambda: cluster.available(f"v1.{group}"))
    cluster.host.must("DELETE", f"{API_SERVICES}/v1.{group}")
    until(lambda: cluster.available(f"v1.{group}"))


def test_elects_one_leader(cluster: AggregatedCluster) -> None:
    """Lead with one operator; another one takes over at its release, or when its lease expires. Probes and metrics show both."""
    until(lambda: _holder(cluster) != "")
    first, acquisitions = _holder(cluster), _acquisitions(cluster.operator)
    port = free_port()
    second = cluster.another_operator("second", f"--metrics-bind-address=127.0.0.1:{port}")
    with second:
        until(lambda: "another replica is the leader" in second.log)
        assert "leader lease acquired" not in second.log
        assert _status(port, "/readyz") == (200, "ok")
        assert 'leader_election_master_status{name="apiext-operator"} 0.0' in _status(port, "/metrics")[1]

        cluster.operator.stop()
        until(lambda: "leader lease acquired" in second.log)
        assert _holder(cluster) not in {"", first}
        cluster.host.must("DELETE", f"{API_SERVICES}/{NAME}")
        until(lambda: cluster.available(NAME))
        metrics = _status(port, "/metrics")[1]
        assert 'leader_election_master_status{name="apiext-operator"} 1.0' in metrics
        assert 'apiext_operator_events_total{reason="Registered"}' in metrics

        cluster.operator.start()
        second.kill()
        until(lambda: _acquisitions(cluster.operator) == acquisitions + 1)


def test_changes_nothing_after_a_restart(cluster: AggregatedCluster) -> None:
    """Change nothing after a restart of the operator."""
    path = f"{API_SERVICES}/{NAME}"
    until(lambda: cluster.available(NAME))
    before, acquisitions = cluster.host.must("GET", path), _acquisitions(cluster.operator)

    cluster.operator.restart()
    until(lambda: _acquisitions(cluster.operator) == acquisitions + 1)
    group = "afterwards.example.com"
    cluster.own().must("POST", CRDS, widget_crd(group=group))
    until(lambda: cluster.available(f"v1.{group}"))

    assert cluster.host.must("GET", path) == before


@contextmanager
def _away(cluster: AggregatedCluster) -> Iterator[None]:
    """Stop apiext, and wait until the host has noticed; start it afterwards."""
    look = {"metadata": {"annotations": {"look": str(time.monotonic())}}}
    cluster.apiext.stop()
    try:
        # a change has the host look at once whether it is available
        cluster.host.must("PATCH", f"{API_SERVICES}/{NAME}", look, MERGE)
        until(lambda: not cluster.available(NAME))
        yield
    finally:
        cluster.apiext.start()
        cluster.host.must("PATCH", f"{API_SERVICES}/{NAME}", {"metadata": {"annotations": None}}, MERGE)
        until(lambda: cluster.available(NAME))


def test_keeps_api_services_while_apiext_is_away(cluster: AggregatedCluster, kubectl: Kubectl) -> None:
    """Keep all APIServices while apiext does not respond, also with a new operator, and report the failed check."""
    with _away(cluster):
        until(lambda: "is not available: connection: " in kubectl("describe", "apiservice", NAME))
        failed = cluster.operator.log.count("group reconciliation failed, retrying")
        cluster.operator.restart()
        until(lambda: cluster.operator.log.count("group reconciliation failed, retrying") > failed)

        assert _is_right(cluster, _found(cluster, NAME))
