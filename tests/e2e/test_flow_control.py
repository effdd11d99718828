"""API Priority and Fairness behind a kube-apiserver: by the objects of the host, and without access to them."""

import re
from contextlib import closing
from typing import Final

import pytest

from hack.lib.servers.aggregated_permissions import server_rules
from hack.lib.servers.caller import Caller
from tests.e2e.cluster import GROUP, Cluster, until
from tests.support.builders.crds import widgets_path

pytestmark = pytest.mark.slow
FLOWS: Final = "flowcontrol.apiserver.k8s.io"
BASE: Final = f"/apis/{FLOWS}/v1"
WIDGETS: Final = widgets_path(GROUP)
UIDS: Final = ("X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID")
USER: Final = "flora"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
_CANNOT_READ: Final = "cannot read the host's flow control objects"


def _level(name: str) -> dict[str, object]:
    queuing = {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 10}}
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": queuing}}}


def _schema(name: str, level: str, user: str) -> dict[str, object]:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    rule = {"subjects": [{"kind": "User", "user": {"name": user}}], "resourceRules": [everything]}
    spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": 50, "rules": [rule]}
    return {"metadata": {"name": name}, "spec": spec}


def _uids(caller: Caller) -> list[list[str] | None]:
    """Return all values of each header of the answer to a list that name the flow schema and the priority level."""
    with closing(caller.connect()) as connection:
        response = caller.send(connection, "GET", WIDGETS)
        response.read()
    return [response.headers.get_all(name) for name in UIDS]


def _dispatched(admin: Caller, schema: str, level: str) -> int:
    """Return how many requests of a flow schema apiext has run."""
    line = rf'^apiserver_flowcontrol_dispatched_requests_total{{flow_schema="{schema}",priority_level="{level}"}} (\S+)$'
    found = re.search(line, admin.must("GET", "/metrics"), re.MULTILINE)
    return int(float(found[1])) if found else 0


def test_follows_the_host(cluster: Cluster) -> None:
    """Classify requests through the host by its objects and the users that they name; a client sees the headers of both servers."""
    level = cluster.host.must("POST", f"{BASE}/prioritylevelconfigurations", _level("e2e-level"))
    schema = cluster.host.must("POST", f"{BASE}/flowschemas", _schema("e2e-flow", "e2e-level", USER))
    cluster.grant("e2e-flora", [{"apiGroups": [GROUP], "resources": ["widgets"], "verbs": ["list"]}], USER)
    through, directly = cluster.through_host(USER), cluster.directly(USER)
    expected = [[one["metadata"]["uid"]] for one in (schema, level)]
    try:
        until(lambda: _uids(directly) == expected)
        # through the host both servers say the same
        until(lambda: _uids(through) == [uids * 2 for uids in expected])
        before = _dispatched(cluster.own(), "e2e-flow", "e2e-level")
        through.ask("GET", WIDGETS)
        assert _dispatched(cluster.own(), "e2e-flow", "e2e-level") == before + 1
        assert _uids(cluster.directly("another")) != expected

        other = {"spec": {"rules": _schema("", "", "another")["spec"]["rules"]}}  # type: ignore[index]
        cluster.host.must("PATCH", f"{BASE}/flowschemas/e2e-flow", other, MERGE)
        until(lambda: _uids(cluster.directly("another")) == expected and _uids(directly) != expected)
    finally:
        cluster.host.must("DELETE", f"{BASE}/flowschemas/e2e-flow")
        cluster.host.must("DELETE", f"{BASE}/prioritylevelconfigurations/e2e-level")
    until(lambda: _uids(cluster.directly("another")) == _uids(directly) != expected)


def test_without_access(cluster: Cluster) -> None:
    """Apply the mandatory objects if the host forbids its own, log that once, and become ready."""
    granted = [rule for rule in server_rules() if FLOWS not in rule.get("apiGroups", ())]
    cluster.grant("e2e-unfair", granted, "unfair")
    cluster.bind("clusterrolebindings", "e2e-unfair-delegator", "ClusterRole", "system:auth-delegator", "unfair")
    reader = "extension-apiserver-authentication-reader"
    cluster.bind("namespaces/kube-system/rolebindings", "e2e-unfair", "Role", reader, "unfair")
    kubeconfig = cluster.plane.write_kubeconfig("unfair", cluster.plane.authority.issue("unfair"))
    with cluster.another_server("unfair", f"--kubeconfig={kubeconfig}") as server:
        caller = Caller(server.url, cluster.authority.cert, cluster.plane.authority.issue(USER))
        until(lambda: _CANNOT_READ in server.log)
        until(server.ready)
        assert _uids(caller) == [[""], [""]]
        assert _dispatched(cluster.own(server), "catch-all", "catch-all") > 0

        cluster.grant("e2e-fair", server_rules(), "unfair")
        until(lambda: _uids(caller) == _uids(cluster.directly(USER)))
        assert server.log.count(_CANNOT_READ) == 1
