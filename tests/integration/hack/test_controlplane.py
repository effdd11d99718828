"""Tests of the reference control plane that other tests start."""

import subprocess

import pytest

from hack.lib.reference.binaries import binary
from hack.lib.servers.controlplane import ControlPlane

pytestmark = pytest.mark.slow


def test_reports_the_pinned_version(control_plane: ControlPlane) -> None:
    """Report the version that go.mod pins."""
    assert control_plane.client.must("GET", "/version")["gitVersion"].startswith("v1.37.")


def test_kubectl_is_an_admin(control_plane: ControlPlane) -> None:
    """Give full rights to the user of the kubeconfig."""
    command = [str(binary("kubectl")), f"--kubeconfig={control_plane.kubeconfig}", "auth", "can-i", "*", "*"]

    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "yes\n"


def test_the_server_restarts_at_its_address(control_plane: ControlPlane) -> None:
    """Answer at the same address with the same data after a restart."""
    before = control_plane.client.must("GET", "/api/v1/namespaces/default")
    control_plane.restart_apiserver()

    after = control_plane.client.must("GET", "/api/v1/namespaces/default")

    assert after["metadata"]["uid"] == before["metadata"]["uid"]
