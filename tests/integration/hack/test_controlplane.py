"""The reference control plane as tests use it."""

import json
import subprocess

import pytest

from hack.lib.reference.binaries import binary
from hack.lib.servers.controlplane import ControlPlane

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_it_is_the_pinned_version(control_plane: ControlPlane) -> None:
    """kube-apiserver says the version it was built from."""
    status, body = control_plane.get("/version")

    assert status == 200
    assert json.loads(body)["gitVersion"].startswith("v1.37.")


def test_kubectl_is_an_admin(control_plane: ControlPlane) -> None:
    """The kubeconfig is that of a user who may do everything."""
    command = [str(binary("kubectl")), f"--kubeconfig={control_plane.kubeconfig}", "auth", "can-i", "*", "*"]

    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "yes\n"


def test_the_server_restarts_at_its_address(control_plane: ControlPlane) -> None:
    """After a restart the server answers at the same address with the same data."""
    before = json.loads(control_plane.get("/api/v1/namespaces/default")[1])
    control_plane.restart_apiserver()

    after = json.loads(control_plane.get("/api/v1/namespaces/default")[1])

    assert after["metadata"]["uid"] == before["metadata"]["uid"]
