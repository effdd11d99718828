"""Tests of `--builtin-kinds` with the tools of their users: kubectl, install manifests of real operators, and kopf."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.lib.operator_manifests import OPERATORS, UnavailableManifestError, manifest
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl
from hack.lib.servers.process import Process, environment
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import Client
from tests.support.clients.deployment_operator import GROUP

ROOT: Final = Path(__file__).resolve().parents[2]
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
POD: Final = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
DEPLOYMENT: Final = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": POD},
}


@pytest.fixture(scope="module")
def builtin_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server with all built-in kinds."""
    with ApiextServer(tmp_path_factory.mktemp("apiext"), extra_args=["--builtin-kinds"]) as started:
        yield started


@pytest.fixture
def admin(builtin_server: ApiextServer) -> Iterator[Client]:
    """Return an administrator of the server."""
    with Client(builtin_server) as connected:
        yield connected


@pytest.fixture
def kubectl(builtin_server: ApiextServer, tmp_path: Path) -> Kubectl:
    """Return kubectl with the server's kubeconfig."""
    return Kubectl(builtin_server.kubeconfig, tmp_path)


def test_kubectl(kubectl: Kubectl) -> None:
    """Apply, show, patch, scale, expose, explain and delete built-in objects with kubectl."""
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
    assert kubectl("apply", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT)) == "deployment.apps/web unchanged\n"
    assert kubectl("get", "deployments").splitlines()[0].split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    kubectl("set", "image", "deployment/web", "c=nginx:2")
    kubectl("set", "env", "deployment/web", "A=1", "B=2")
    kubectl("set", "env", "deployment/web", "A-")
    kubectl("scale", "deployment/web", "--replicas=3")
    kubectl("expose", "deployment/web", "--port=80")
    kubectl("autoscale", "deployment/web", "--max=3")
    found = kubectl.json("get", "deployment/web")
    [container] = found["spec"]["template"]["spec"]["containers"]
    assert (found["spec"]["replicas"], container["image"], container["env"]) == (3, "nginx:2", [{"name": "B", "value": "2"}])
    assert kubectl.json("get", "service/web")["spec"]["selector"] == {"app": "web"}
    assert "strategy" in kubectl("explain", "deployment.spec")
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump(DEPLOYMENT))
    kubectl("delete", "deployment/web", "service/web", "hpa/web")
    assert "NotFound" in kubectl.refused("get", "deployment/web")


def test_objects_of_the_server(kubectl: Kubectl, admin: Client, builtin_server: ApiextServer) -> None:
    """Have the objects that a kube-apiserver makes for itself, and make them again."""
    info = kubectl("cluster-info", NO_COLOR="1")
    assert info.splitlines()[0] == f"Kubernetes control plane is running at {builtin_server.url}"
    assert kubectl.json("get", "svc/kubernetes", "-n", "default")["spec"]["ports"][0]["targetPort"] == builtin_server.port
    names = ("servicecidr/kubernetes", "ipaddress/10.0.0.1", "apiservice/v1.apps", "priorityclass/system-node-critical")
    assert kubectl("get", *names, "-o", "name").count("\n") == len(names)
    assert "Forbidden" in kubectl.refused("delete", "priorityclass/system-node-critical")

    trust = kubectl.json("get", "cm/extension-apiserver-authentication", "-n", "kube-system")
    assert trust["data"] == {"client-ca-file": builtin_server.ca.read_text()}
    kubectl("delete", "cm/extension-apiserver-authentication", "-n", "kube-system")
    configs = "/api/v1/namespaces/kube-system/configmaps"
    again = admin.until(configs, trust["metadata"]["name"], lambda obj: obj["metadata"]["uid"] != trust["metadata"]["uid"])
    assert again["data"] == trust["data"]


def test_namespace_deletion(kubectl: Kubectl, admin: Client) -> None:
    """Delete the built-in objects of a namespace with it."""
    kubectl("create", "namespace", "going")
    kubectl("create", "deployment", "web", "--image=nginx", "-n", "going")
    kubectl("create", "configmap", "settings", "-n", "going")
    kubectl("delete", "namespace", "going")
    admin.until_gone("/api/v1/namespaces", "going")
    assert admin.must("GET", "/apis/apps/v1/deployments?fieldSelector=metadata.namespace%3Dgoing")["items"] == []


def test_refuses_other_subresources(admin: Client) -> None:
    """Answer 404 for subresources that need a kubelet, and leave them out of discovery."""
    admin.must("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "one"}, "spec": POD["spec"]})
    assert admin.ask("GET", "/api/v1/namespaces/default/pods/one/log").status == 404
    assert admin.ask("POST", "/api/v1/namespaces/default/pods/one/exec").status == 404
    names = {one["name"] for one in admin.must("GET", "/api/v1")["resources"]}
    assert {"pods", "pods/status", "pods/resize", "pods/ephemeralcontainers"} <= names
    assert not names & {"pods/log", "pods/exec", "pods/proxy", "bindings", "componentstatuses"}
    admin.must("DELETE", "/api/v1/namespaces/default/pods/one")


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_operator_manifests(kubectl: Kubectl, name: str) -> None:
    """Apply the install manifest of a real operator, on the client's side and on the server's."""
    try:
        text = manifest(name)
    except UnavailableManifestError as error:
        pytest.skip(str(error))
    objects = [obj for obj in yaml.safe_load_all(text) if obj]
    # the annotation with a large CRD would be too long, as on any server
    large = [obj for obj in objects if obj["kind"] == "CustomResourceDefinition"]
    namespace = OPERATORS[name].namespace
    default = ["-n", namespace] if all(obj["kind"] != "Namespace" for obj in objects) else []
    if default:
        kubectl("create", "namespace", namespace)
    kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(large))
    kubectl("apply", *default, "-f", "-", stdin=yaml.safe_dump_all([obj for obj in objects if obj not in large]))
    kubectl("apply", *default, "--server-side", "--force-conflicts", "-f", "-", stdin=text)
    assert {"CustomResourceDefinition", "Deployment", "ClusterRole", "ServiceAccount"} <= {obj["kind"] for obj in objects}
    assert kubectl.json("get", "deployments", "-n", namespace)["items"]


@pytest.fixture
def operator(builtin_server: ApiextServer, tmp_path: Path) -> Iterator[Process]:
    """Run the operator that makes Deployments."""
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--all-namespaces", "-m", "tests.support.clients.deployment_operator"]
    process = Process(command, tmp_path / "operator.log", environment(KUBECONFIG=str(builtin_server.kubeconfig), PYTHONPATH=str(ROOT)))
    yield process
    process.kill()


def test_reconciliation(admin: Client, operator: Process) -> None:
    """Let an operator make and scale Deployments, and report their status."""
    admin.define(crd(versions=[version("v1", storage=True, subresources={})], group=GROUP))
    operator.start()
    admin.must("POST", WIDGETS, widget("one", group=GROUP, replicas=2))
    made = admin.until(DEPLOYMENTS, "one", lambda obj: obj["spec"]["replicas"] == 2)
    assert made["metadata"]["ownerReferences"][0]["name"] == "one"

    admin.merge(f"{DEPLOYMENTS}/one/status", {"status": {"readyReplicas": 2, "replicas": 2}})
    admin.until(WIDGETS, "one", _is_ready(2))
    admin.merge(f"{WIDGETS}/one", {"spec": {"replicas": 5}})
    admin.until(DEPLOYMENTS, "one", lambda obj: obj["spec"]["replicas"] == 5)
    assert "Traceback" not in operator.log.read_text()


def _is_ready(pods: int) -> Any:
    return lambda obj: obj.get("status", {}).get("ready") == pods
