"""The operator of Routes, from their creation over a release to its rollback."""

from contextlib import contextmanager

import pytest
from kopf.testing import KopfRunner

from apiext.testkit import eventually

ROUTES = "routes.net.example.com"


@contextmanager
def operator():
    with KopfRunner(["run", "--standalone", "--all-namespaces", "crds/testing/route_operator.py"]) as runner:
        yield
    assert runner.exit_code == 0


@pytest.mark.crds("crds/releases/1")
@pytest.mark.usefixtures("kubeconfig")
def test_release_and_rollback(advance, dynamic_client, namespace):
    def create(version, name):
        kind = {"apiVersion": f"net.example.com/{version}", "kind": "Route"}
        routes = dynamic_client.resources.get(api_version=kind["apiVersion"], kind="Route")
        routes.create(namespace=namespace, body=kind | {"metadata": {"name": name}, "spec": {"host": f"{name}.example.com"}})
        eventually(lambda: routes.get(name=name, namespace=namespace).status.address == f"{name}.example.com:80")

    with operator():
        create("v1alpha1", "first")
        assert advance("crds/releases/2").verdict == "safe"
        create("v1", "second")
        create("v1alpha1", "third")
        assert advance("crds/releases/2", migrate=True).stored_versions[ROUTES] == ["v1"]
    # kopf ends with an error when the version that it watches is no longer served
    assert advance("crds/releases/1").stored_objects[ROUTES] == {"v1alpha1": 3}
    with operator():
        create("v1alpha1", "fourth")
