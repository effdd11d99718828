"""Objects of apiext with the usual clients of a cluster."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from hack.lib.servers.kubectl import Kubectl
from tests.e2e.cluster import SERVED, Cluster, until
from tests.support.builders.crds import widget, widgets_path

pytestmark = pytest.mark.slow


def _widget(group: str, name: str, **spec: Any) -> str:
    return json.dumps(widget(name, group=group, **spec))


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    """Delete the objects after each test."""
    yield
    for group in SERVED:
        cluster.host.must("DELETE", widgets_path(group))


def test_kubectl_commands(kubectl: Kubectl, group: str) -> None:
    """Create, show, apply, edit, scale, patch and delete an object with kubectl."""
    kind = f"widgets.{group}"
    assert kubectl("create", "-f", "-", stdin=_widget(group, "a")) == f"widget.{group}/a created\n"
    assert kubectl("get", kind, "--no-headers").split() == ["a", "m"]
    assert kubectl("apply", "-f", "-", stdin=_widget(group, "b", size="s")) == f"widget.{group}/b created\n"
    assert kubectl("apply", "-f", "-", stdin=_widget(group, "b", size="l")) == f"widget.{group}/b configured\n"
    assert "edited" in kubectl("edit", kind, "b", KUBE_EDITOR="sed -i s/l$/xl/")
    kubectl("scale", kind, "b", "--replicas=3")
    kubectl("patch", kind, "b", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":2}}')

    shown = kubectl.json("get", kind, "b")
    assert (shown["spec"], shown["status"]) == ({"size": "xl", "replicas": 3}, {"replicas": 2})
    deleted = [f'widget.{group} "{name}" deleted from default namespace' for name in ("a", "b")]
    assert kubectl("delete", kind, "a", "b").splitlines() == deleted
    assert "NotFound" in kubectl.refused("get", kind, "a")


def test_dry_runs_change_nothing(kubectl: Kubectl, group: str) -> None:
    """Show what would be stored, or the error, and store nothing."""
    kind, dry = f"widgets.{group}", ("apply", "--dry-run=server", "-f", "-")
    assert kubectl(*dry, stdin=_widget(group, "a")) == f"widget.{group}/a created (server dry run)\n"
    assert kubectl("get", kind, "--ignore-not-found") == ""
    kubectl("apply", "-f", "-", stdin=_widget(group, "a", size="s"))
    assert kubectl(*dry, "-o", "jsonpath={.spec}", stdin=_widget(group, "a", replicas=2)) == '{"replicas":2,"size":"m"}'
    assert "spec.replicas: Invalid value" in kubectl.refused(*dry, "--validate=false", stdin=_widget(group, "a", replicas="2"))

    assert kubectl.json("get", kind, "a")["spec"] == {"size": "s"}


def test_limits_users_to_their_namespace(cluster: Cluster, group: str, tmp_path: Path) -> None:
    """Limit kubectl of a user to the namespace of the role."""
    user, kind = f"kim-{group}", f"widgets.{group}"
    cluster.grant(f"e2e-{user}", [{"apiGroups": [group], "resources": ["widgets"], "verbs": ["get", "list", "watch", "create", "patch"]}])
    cluster.bind("namespaces/default/rolebindings", f"e2e-{user}", "ClusterRole", f"e2e-{user}", user)
    kim = Kubectl(cluster.plane.write_kubeconfig(user, cluster.plane.authority.issue(user)), tmp_path)
    until(lambda: kim.run("auth", "can-i", "list", kind).returncode == 0)

    until(lambda: kim.run("get", kind).returncode == 0)
    kim("apply", "-f", "-", stdin=_widget(group, "a", size="s"))
    kim("apply", "-f", "-", stdin=_widget(group, "a", size="l"))
    with kim.watching("get", kind, "-w", "--no-headers") as lines:
        assert next(lines).split() == ["a", "l"]
    assert "FIELD: size <string>" in kim("explain", f"{kind}.spec.size")
    refused = f'User "{user}" cannot {{}} resource "{{}}" in API group "{group}" in the namespace "{{}}"'
    assert refused.format("delete", "widgets", "default") in kim.refused("delete", kind, "a")
    assert refused.format("patch", "widgets/scale", "default") in kim.refused("scale", kind, "a", "--replicas=1")
    assert refused.format("list", "widgets", "kube-system") in kim.refused("get", kind, "-n", "kube-system")
    assert cluster.host.must("GET", f"{widgets_path(group)}/a")["spec"] == {"size": "l"}


def test_passes_error_messages_through(kubectl: Kubectl, group: str) -> None:
    """Pass apiext's message for an object to the cluster's client."""
    said = kubectl.refused("create", "-f", "-", "--validate=false", stdin=_widget(group, "a", size=5))

    assert 'The Widget "a" is invalid: spec.size: Invalid value: "integer"' in said


def test_streams_changes(cluster: Cluster, kubectl: Kubectl, group: str) -> None:
    """Send changes through the cluster to watchers as they happen."""
    with kubectl.watching("get", f"widgets.{group}", "-w", "-o", 'jsonpath={.metadata.name}={.spec.size}{"\\n"}') as lines:
        for size in ("s", "l"):
            kubectl("apply", "-f", "-", stdin=_widget(group, "w", size=size))
            assert list(islice(lines, 1)) == [f"w={size}\n"]

    with closing(cluster.host.connect()) as connection:
        path = f"{widgets_path(group)}?watch=true&fieldSelector=metadata.name%3Dw&timeoutSeconds=20"
        answer = cluster.host.send(connection, "GET", path)
        assert json.loads(answer.readline())["type"] == "ADDED"
        cluster.host.must("DELETE", f"{widgets_path(group)}/w")
        assert json.loads(answer.readline())["type"] == "DELETED"


def test_compresses_for_clients_only(cluster: Cluster, group: str) -> None:
    """Send a large list compressed if the client accepts it, and otherwise with its length: the host did not decompress it.

    Over HTTP/2, Go sends the fields of its client in any order: now and then that of the client is where Go adds its own.
    """
    for number in range(3):
        large = widget(f"large{number}", group=group)
        large["metadata"]["annotations"] = {"large": "x" * 100_000}
        try:
            cluster.host.must("POST", widgets_path(group), large)
        except http.client.IncompleteRead:
            # Go's proxy ends a response that begins before it has noticed the end of the request's body: the object is there
            cluster.host.must("GET", f"{widgets_path(group)}/large{number}")

    def listed(**headers: str) -> tuple[str | None, bool]:
        with closing(cluster.host.connect()) as connection:
            connection.putrequest("GET", widgets_path(group), skip_accept_encoding=True)
            for name, text in headers.items():
                connection.putheader(name.replace("_", "-"), text)
            connection.endheaders()
            answer = connection.getresponse()
            answer.read()
        return answer.getheader("Content-Encoding"), answer.getheader("Content-Length") is not None

    until(lambda: listed(Accept_Encoding="gzip")[0] == "gzip")
    assert listed(Accept_Encoding="gzip, identity")[0] == "gzip"
    assert listed() == (None, True)


def test_stores_objects_in_its_own_etcd(cluster: Cluster, group: str) -> None:
    """Store objects in apiext's etcd under the reference's keys, and none in the cluster's."""
    cluster.host.must("POST", widgets_path(group), json.loads(_widget(group, "kept")))

    assert cluster.keys(cluster.etcd.url, f"{group}/widgets/default/") == [f"/registry/{group}/widgets/default/kept"]
    assert cluster.keys(cluster.plane.etcd_url, f"{group}/widgets") == []
