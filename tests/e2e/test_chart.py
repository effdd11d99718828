"""The Helm chart in a real cluster: installation, upgrade, rollback and removal of a release."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.chart.choices import Choice, identity
from hack.lib.chart.templates import CHART
from hack.lib.clients import catalog, packages
from hack.lib.manifests import NAMESPACE
from hack.lib.servers.caller import Caller
from hack.lib.servers.controlplane import ControlPlane
from tests.support.clients.helm import RELEASE, Helm

pytestmark = pytest.mark.slow
KINDS: Final = {
    "apps/v1": ("deployments", "statefulsets"),
    "apiextensions.k8s.io/v1": ("customresourcedefinitions",),
    "batch/v1": ("cronjobs",),
    "networking.k8s.io/v1": ("networkpolicies",),
    "policy/v1": ("poddisruptionbudgets",),
    "rbac.authorization.k8s.io/v1": ("clusterroles", "clusterrolebindings", "roles", "rolebindings"),
    "v1": ("persistentvolumeclaims", "resourcequotas", "serviceaccounts", "services"),
}
MORE: Final = {"conversions": {"enabled": True}, "backup": {"enabled": True}, "servers": {"replicas": 3}}
KEPT: Final = {f"PersistentVolumeClaim {NAMESPACE}/apiext-backups", "CustomResourceDefinition /conversions.conversions.apiext.dev"}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Provide a cluster without controllers and nodes."""
    with ControlPlane(tmp_path, durable=False) as started:
        yield started


@pytest.fixture(params=[catalog.HELM_3, catalog.HELM_4], ids=["helm-3", "helm-4"])
def helm(request: pytest.FixtureRequest, plane: ControlPlane, tmp_path: Path) -> Helm:
    """Provide Helm as an administrator of the cluster."""
    try:
        return Helm(tmp_path, plane.kubeconfig, request.param)
    except packages.UnavailableError as error:
        pytest.skip(str(error))


def installed(host: Caller) -> set[str]:
    """Return the objects of apiext in the cluster."""
    found = set()
    for version, plurals in KINDS.items():
        for plural in plurals:
            path = f"/{'api' if version == 'v1' else 'apis'}/{version}/{plural}?labelSelector=app.kubernetes.io/part-of=apiext"
            answer: dict[str, Any] = host.must("GET", path)
            kind = answer["kind"].removesuffix("List")
            found |= {identity({"kind": kind, "metadata": item["metadata"]}) for item in answer["items"]}
    return found


def replicas(host: Caller) -> int:
    """Return the wanted number of servers."""
    return int(host.must("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/apiext")["spec"]["replicas"])


def test_a_release_from_its_installation_to_its_removal(plane: ControlPlane, helm: Helm) -> None:
    """Install the base, add and remove components, and remove all but what holds data; install again beside that."""
    wanted = (Choice(), Choice(options=frozenset({"servers", "conversions", "backup"})))
    base, more = (set(map(identity, choice.documents())) for choice in wanted)

    helm("install", RELEASE, str(CHART), "--create-namespace", values={})
    assert (installed(plane.client), replicas(plane.client)) == (base, 2)

    helm("upgrade", RELEASE, str(CHART), values=MORE)
    assert (installed(plane.client), replicas(plane.client)) == (more, 3)

    helm("rollback", RELEASE, "1")
    assert (installed(plane.client), replicas(plane.client)) == (base | KEPT, 2)

    helm("upgrade", RELEASE, str(CHART), values=MORE)
    assert (installed(plane.client), replicas(plane.client)) == (more, 3)

    helm("uninstall", RELEASE)
    assert installed(plane.client) == KEPT

    helm("install", RELEASE, str(CHART), values={})
    assert (installed(plane.client), replicas(plane.client)) == (base | KEPT, 2)
