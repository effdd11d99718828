"""Start of apiext without the cluster's authentication configuration."""

from pathlib import Path

import pytest

from hack.lib.servers.aggregated_permissions import server_rules
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.process import ProcessError
from tests.e2e.cluster import GROUP, Cluster, until

pytestmark = pytest.mark.slow
FORBIDDEN = 'configmaps "extension-apiserver-authentication" is forbidden: User "newcomer" cannot get resource "configmaps" in API group ""'

KINDS = ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")


def _server(cluster: Cluster, folder: Path, *flags: str) -> ApiextServer:
    kubeconfig = cluster.plane.write_kubeconfig("newcomer", cluster.plane.authority.issue("newcomer"))
    serving = cluster.authority.issue("newcomer-serving")
    own = [f"--tls-cert-file={serving.cert}", f"--tls-private-key-file={serving.key}", f"--authentication-kubeconfig={kubeconfig}"]
    server = ApiextServer(folder, extra_args=[*own, "--authorization-mode=AlwaysAllow", *flags])
    server.ca = cluster.authority.cert
    return server


def test_ends_without_the_role(cluster: Cluster, tmp_path: Path) -> None:
    """End with a message if the ConfigMap is forbidden; where that is tolerated, authenticate clients once it is not."""
    with pytest.raises(ProcessError) as ended:
        _server(cluster, tmp_path / "strict").start()
    assert FORBIDDEN in str(ended.value)
    assert "--authentication-tolerate-lookup-failure" in str(ended.value)

    with _server(cluster, tmp_path / "tolerant", "--authentication-tolerate-lookup-failure") as server:
        admin = Caller(server.url, server.ca, cluster.plane.admin)
        code, status = admin.ask("GET", "/api/v1/namespaces")
        assert (code, "system:anonymous" in status["message"]) == (403, True)

        cluster.bind("namespaces/kube-system/rolebindings", "newcomer", "Role", "extension-apiserver-authentication-reader", "newcomer")
        until(lambda: admin.ask("GET", "/api/v1/namespaces")[0] == 200)


def test_skips_the_lookup(cluster: Cluster, tmp_path: Path) -> None:
    """Authenticate own clients without the lookup, and review tokens all the same."""
    with _server(cluster, tmp_path, "--authentication-skip-lookup") as server:
        assert server.request("GET", "/api/v1/namespaces")[0] == 200
        stranger = Caller(server.url, server.ca, token="x")
        assert stranger.ask("GET", f"/apis/{GROUP}/v1/widgets")[0] == 401
        assert "cannot create resource" in server.log


def test_reports_missing_rights_as_not_ready(cluster: Cluster, tmp_path: Path) -> None:
    """Stay not ready, and give the reason, until what admits writes can be read from the cluster."""
    kubeconfig = cluster.plane.write_kubeconfig("blind", cluster.plane.authority.issue("blind"))
    server = _server(cluster, tmp_path, "--authentication-skip-lookup", f"--kubeconfig={kubeconfig}")
    guards = (f"{phase}{kind}" for phase in ("Mutating", "Validating") for kind in KINDS)
    waiting = " ".join(f"*v1.{kind}" for kind in ("Namespace", *guards, "ResourceQuota"))
    check, waits = "/readyz/informer-sync", f"internal server error: 8 informers not started yet: [{waiting}]\n".encode()
    server.process.start()
    try:
        until(lambda: server.request("GET", check)[::2] == (500, waits))
        until(lambda: "cannot list resource" in server.log)
        cluster.grant("e2e-blind", server_rules(), "blind")
        until(server.ready)
    finally:
        server.stop()
