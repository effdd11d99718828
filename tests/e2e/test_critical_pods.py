"""The manifests in a cluster that limits critical priority classes to namespaces with a quota for them, as GKE does."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.lib.manifests import NAMESPACE, built, pod_template
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until

pytestmark = pytest.mark.slow
CRITICAL: Final = ["system-node-critical", "system-cluster-critical"]
_QUOTA: Final = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "ResourceQuotaConfiguration",
    "limitedResources": [{"resource": "pods", "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": CRITICAL}]}],
}
_ADMISSION: Final = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "AdmissionConfiguration",
    "plugins": [{"name": "ResourceQuota", "configuration": _QUOTA}],
}


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Provide a cluster with this configuration, and with controllers that create pods."""
    folder = tmp_path_factory.mktemp("limited")
    (folder / "admission.json").write_text(json.dumps(_ADMISSION))
    flags = [f"--admission-control-config-file={folder / 'admission.json'}"]
    with ControlPlane(folder / "host", durable=False, controller_manager=True, extra_args=flags) as plane:
        yield plane


def test_a_namespace_without_quota_has_no_critical_pods(limited: ControlPlane) -> None:
    """Refuse a pod of the servers' priority class in a namespace without a quota for it."""
    spec = {"priorityClassName": "system-cluster-critical", "containers": [{"name": "any", "image": "any"}]}
    until(lambda: limited.client.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200)

    code, answer = limited.client.ask("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "any"}, "spec": spec})

    # the plug-in's error has no code of its own
    assert code == 500
    assert answer["message"].startswith("insufficient quota to match these scopes")


def test_all_pods_are_admitted(limited: ControlPlane, tmp_path: Path) -> None:
    """Create all pods of the base and of the conversion webhook."""
    documents = [*built("base"), *built("conversion/base")]
    wanted = Counter({_component(pod_template(one)): one["spec"]["replicas"] for one in documents if pod_template(one)})
    kubectl = Kubectl(limited.kubeconfig, tmp_path)
    for build in ("base", "conversion/base"):
        items = json.dumps({"apiVersion": "v1", "kind": "List", "items": built(build)})
        kubectl("apply", "--server-side", "-f", "-", stdin=items)

    until(lambda: Counter(map(_component, _pods(limited))) == wanted)

    assert {str(pod["spec"]["priorityClassName"]) for pod in _pods(limited)} == {"system-cluster-critical"}


def _pods(plane: ControlPlane) -> list[dict[str, dict[str, dict[str, str]]]]:
    found: list[dict[str, dict[str, dict[str, str]]]] = plane.client.must("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    return found


def _component(pod: dict[str, dict[str, dict[str, str]]]) -> str:
    return pod["metadata"]["labels"]["app.kubernetes.io/component"]
