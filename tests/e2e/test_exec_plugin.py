"""Kubeconfigs with an exec plugin, as EKS, GKE and AKS have them."""

import json
from pathlib import Path

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.process import ProcessError
from tests.e2e.cluster import LABELLED, Cluster, until
from tests.support.clients.doctor import doctor

pytestmark = pytest.mark.slow


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Path:
    """Return the cluster admin's kubeconfig with an exec plugin in place of the client certificate."""
    config = json.loads(cluster.plane.kubeconfig.read_text())
    admin = cluster.plane.admin
    status = {"clientCertificateData": admin.cert.read_text(), "clientKeyData": admin.key.read_text()}
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    (tmp_path / "credential.json").write_text(json.dumps(credential))
    plugin = tmp_path / "plugin"
    plugin.write_text('#!/bin/sh\necho run >> "$1/runs"\ncat "$1/credential.json"\n')
    plugin.chmod(0o755)
    section = {"apiVersion": credential["apiVersion"], "command": "./plugin", "args": [str(tmp_path)], "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": section}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def _server(cluster: Cluster, folder: Path, kubeconfig: Path) -> ApiextServer:
    serving = cluster.authority.issue("exec-plugin")
    own = [f"--tls-cert-file={serving.cert}", f"--tls-private-key-file={serving.key}", f"--kubeconfig={kubeconfig}"]
    server = ApiextServer(folder, extra_args=own)
    server.ca = cluster.authority.cert
    return server


def test_serves_with_an_exec_plugin(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """Authenticate to the host with the plugin's certificate, and run the plugin once for all clients."""
    with _server(cluster, tmp_path / "server", kubeconfig) as server:
        until(server.ready)
        admin = Caller(server.url, server.ca, cluster.plane.admin)
        until(lambda: admin.ask("GET", "/apis")[0] == 200)

    assert (tmp_path / "runs").read_text() == "run\n"


def test_does_not_start_with_a_failing_plugin(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """End with the plugin's stderr instead of sending anonymous requests."""
    (tmp_path / "plugin").write_text("#!/bin/sh\necho 'token expired, run: login' >&2\nexit 1\n")

    with pytest.raises(ProcessError, match=r"failed with exit code 1: token expired, run: login"):
        _server(cluster, tmp_path / "server", kubeconfig).start()


def test_doctor_uses_an_exec_plugin(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    """Check all hops with the plugin's certificate."""
    report = doctor(cluster, LABELLED, f"--kubeconfig={kubeconfig}")

    assert [hop for hop in report["hops"] if hop["state"] == "broken"] == []
    assert (tmp_path / "runs").read_text() == "run\n"
