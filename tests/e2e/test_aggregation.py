"""Discovery and OpenAPI documents of a cluster with apiext."""

import json
from contextlib import closing

import pytest

from hack.lib.servers.kubectl import Kubectl
from tests.e2e.cluster import GROUP, Cluster, until

pytestmark = pytest.mark.slow


def test_merges_discovery(cluster: Cluster, kubectl: Kubectl, group: str) -> None:
    """List the kinds of apiext among those of the cluster, in plain and in aggregated discovery."""
    until(lambda: f"{group}/v1" in kubectl("api-versions"))

    listed = kubectl("api-resources", f"--api-group={group}", "--no-headers").split()
    plain = cluster.host.must("GET", f"/apis/{group}/v1")

    assert listed == ["widgets", f"{group}/v1", "true", "Widget"]
    assert [one["name"] for one in plain["resources"]] == ["widgets", "widgets/status", "widgets/scale"]


def test_merges_openapi(cluster: Cluster, kubectl: Kubectl, group: str) -> None:
    """Include the schemas of apiext in OpenAPI v2 and v3, and explain them with kubectl."""
    schema = f"com.example.{group.partition('.')[0]}.v1.Widget"
    until(lambda: schema in cluster.host.must("GET", "/openapi/v2")["definitions"])
    # the index calls itself text
    until(lambda: f"apis/{group}/v1" in json.loads(cluster.host.must("GET", "/openapi/v3"))["paths"])

    assert schema in cluster.host.must("GET", f"/openapi/v3/apis/{group}/v1")["components"]["schemas"]
    assert "FIELD: size <string>" in kubectl("explain", f"widgets.{group}.spec.size")


def test_serves_each_document_of_the_index(cluster: Cluster, group: str) -> None:
    """Serve each document at its URL of the merged index, every time."""
    host, documents = cluster.host, [f"apis/{group}/v1", "apis/apiextensions.k8s.io/v1", "version"]
    until(lambda: documents[0] in json.loads(host.must("GET", "/openapi/v3"))["paths"])

    found = set()
    for _ in range(10):
        index = json.loads(host.must("GET", "/openapi/v3"))["paths"]
        urls = [index[path]["serverRelativeURL"] for path in documents]
        found |= {(url, host.ask("GET", url)[0]) for url in urls}

    assert len(found) == len(documents)
    assert {code for _, code in found} == {200}


def test_redirects_old_hashes(cluster: Cluster, group: str) -> None:
    """Answer URLs of an older index with the present document."""
    url = f"/openapi/v3/apis/{group}/v1"
    until(lambda: cluster.host.ask("GET", url)[0] == 200)
    with closing(cluster.host.connect()) as connection:
        answer = cluster.host.send(connection, "GET", f"{url}?hash=OLD")
        answer.read()

    # those of the host's own documents it sends on itself
    assert answer.status == (200 if group == GROUP else 301)
