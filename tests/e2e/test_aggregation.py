"""What a cluster shows of the API that apiext serves in it."""

import json
from contextlib import closing

import pytest

from hack.lib.servers.kubectl import Kubectl
from tests.e2e.cluster import GROUP, Cluster, until

pytestmark = pytest.mark.slow


def test_discovery(cluster: Cluster, kubectl: Kubectl, group: str) -> None:
    """Kinds of apiext stand among those of the cluster, in plain and in aggregated discovery."""
    until(lambda: f"{group}/v1" in kubectl("api-versions"))

    listed = kubectl("api-resources", f"--api-group={group}", "--no-headers").split()
    plain = cluster.host.must("GET", f"/apis/{group}/v1")

    assert listed == ["widgets", f"{group}/v1", "true", "Widget"]
    assert [one["name"] for one in plain["resources"]] == ["widgets", "widgets/status", "widgets/scale"]


def test_openapi(cluster: Cluster, kubectl: Kubectl, group: str) -> None:
    """Schemas of apiext are among the cluster's, in versions 2 and 3, and kubectl explains them."""
    schema = f"com.example.{group.partition('.')[0]}.v1.Widget"
    until(lambda: schema in cluster.host.must("GET", "/openapi/v2")["definitions"])
    # the index calls itself text
    until(lambda: f"apis/{group}/v1" in json.loads(cluster.host.must("GET", "/openapi/v3"))["paths"])

    assert schema in cluster.host.must("GET", f"/openapi/v3/apis/{group}/v1")["components"]["schemas"]
    assert "FIELD: size <string>" in kubectl("explain", f"widgets.{group}.spec.size")


def test_documents_stay_where_they_are(cluster: Cluster, group: str) -> None:
    """Of what the host knows itself apiext says nothing to it: each URL of the merged index leads to its document, every time."""
    host, documents = cluster.host, [f"apis/{group}/v1", "apis/apiextensions.k8s.io/v1", "version"]
    until(lambda: documents[0] in json.loads(host.must("GET", "/openapi/v3"))["paths"])

    found = set()
    for _ in range(10):
        index = json.loads(host.must("GET", "/openapi/v3"))["paths"]
        urls = [index[path]["serverRelativeURL"] for path in documents]
        found |= {(url, host.ask("GET", url)[0]) for url in urls}

    assert len(found) == len(documents)
    assert {code for _, code in found} == {200}


def test_another_hash(cluster: Cluster, group: str) -> None:
    """The index follows after a while: until then URLs of an older one lead to today's document."""
    url = f"/openapi/v3/apis/{group}/v1"
    until(lambda: cluster.host.ask("GET", url)[0] == 200)
    with closing(cluster.host.connect()) as connection:
        answer = cluster.host.send(connection, "GET", f"{url}?hash=OLD")
        answer.read()

    # those of the host's own documents it sends on itself
    assert answer.status == (200 if group == GROUP else 301)
