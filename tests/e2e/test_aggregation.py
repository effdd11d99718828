"""What a cluster shows of the API that apiext serves in it."""

import json

import pytest

from tests.e2e.cluster import Cluster, until
from tests.support.kubectl import Kubectl

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
