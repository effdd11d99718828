"""Tests of the reference control plane that other tests start."""

import json
import subprocess

import pytest

from hack.lib.reference.binaries import binary
from hack.lib.servers.controlplane import ControlPlane

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_reports_the_pinned_version(control_plane: ControlPlane) -> None:
    """Report the version that go.mod pins."""
    status, body = control_plane.get("/version")

    assert status == 200
    assert json.loads(body)["gitVersion"].startswith("v1.37.")


def test_kubectl_is_an_admin(control_plane: ControlPlane) -> None:
    """Give full rights to the user of the kubeconfig."""
    command = [str(binary("kubectl")), f"--kubeconfig={control_plane.kubeconfig}", "auth", "can-i", "*", "*"]

    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "yes\n"


def test_the_server_restarts_at_its_address(control_plane: ControlPlane) -> None:
    """Answer at the same address with the same data after a restart."""
    before = json.loads(control_plane.get("/api/v1/namespaces/default")[1])
    control_plane.restart_apiserver()

    after = json.loads(control_plane.get("/api/v1/namespaces/default")[1])

    assert after["metadata"]["uid"] == before["metadata"]["uid"]
