"""Objects of apiext as a cluster's clients handle them."""

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import pytest

from tests.e2e.cluster import GROUP, Cluster
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.slow
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
KIND = f"widgets.{GROUP}"


def _widget(name: str, **spec: Any) -> str:
    return json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    """No objects are left to the next test."""
    yield
    cluster.host.must("DELETE", WIDGETS)


def test_kubectl(kubectl: Kubectl) -> None:
    """An object is created, shown, applied, edited, scaled, patched and deleted through the cluster."""
    assert kubectl("create", "-f", "-", stdin=_widget("a")) == f"widget.{GROUP}/a created\n"
    assert kubectl("get", KIND, "--no-headers").split() == ["a", "m"]
    assert kubectl("apply", "-f", "-", stdin=_widget("b", size="s")) == f"widget.{GROUP}/b created\n"
    assert kubectl("apply", "-f", "-", stdin=_widget("b", size="l")) == f"widget.{GROUP}/b configured\n"
    assert "edited" in kubectl("edit", KIND, "b", KUBE_EDITOR="sed -i s/l$/xl/")
    kubectl("scale", KIND, "b", "--replicas=3")
    kubectl("patch", KIND, "b", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":2}}')

    shown = kubectl.json("get", KIND, "b")
    assert (shown["spec"], shown["status"]) == ({"size": "xl", "replicas": 3}, {"replicas": 2})
    assert (
        kubectl("delete", KIND, "a", "b")
        == f'widget.{GROUP} "a" deleted from default namespace\nwidget.{GROUP} "b" deleted from default namespace\n'
    )
    assert "NotFound" in kubectl.refused("get", KIND, "a")


def test_refusals_keep_their_words(kubectl: Kubectl) -> None:
    """What apiext says of an object reaches the cluster's client."""
    said = kubectl.refused("create", "-f", "-", "--validate=false", stdin=_widget("a", size=5))

    assert 'The Widget "a" is invalid: spec.size: Invalid value: "integer"' in said


def test_watches(cluster: Cluster, kubectl: Kubectl) -> None:
    """Changes reach those who watch through the cluster as they happen."""
    with kubectl.watching("get", KIND, "-w", "-o", 'jsonpath={.metadata.name}={.spec.size}{"\\n"}') as lines:
        for size in ("s", "l"):
            kubectl("apply", "-f", "-", stdin=_widget("w", size=size))
            assert list(islice(lines, 1)) == [f"w={size}\n"]

    with closing(cluster.host.connect()) as connection:
        path = f"{WIDGETS}?watch=true&fieldSelector=metadata.name%3Dw&timeoutSeconds=20"
        answer = cluster.host.send(connection, "GET", path)
        assert json.loads(answer.readline())["type"] == "ADDED"
        cluster.host.must("DELETE", f"{WIDGETS}/w")
        assert json.loads(answer.readline())["type"] == "DELETED"


def test_where_they_are(cluster: Cluster) -> None:
    """Objects are in apiext's etcd, under the reference's keys, and nothing of them is in the cluster's."""
    cluster.host.must("POST", WIDGETS, json.loads(_widget("kept")))

    assert cluster.keys(cluster.etcd.url, "widgets/") == [f"/registry/{GROUP}/widgets/default/kept"]
    assert cluster.keys(cluster.plane.etcd_url, f"{GROUP}/widgets") == []
