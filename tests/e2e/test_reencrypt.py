"""`apiext reencrypt` for an aggregated server."""

import subprocess
import sys

import pytest

from tests.e2e.cluster import Cluster

pytestmark = pytest.mark.slow


def reencrypt(cluster: Cluster, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the command as the administrator of the host."""
    command = [sys.executable, "-m", "apiext", "reencrypt", f"--kubeconfig={cluster.plane.kubeconfig}", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_needs_the_own_address(cluster: Cluster) -> None:
    """Work at apiext's own address; say at the host's that this is another server."""
    wrong = reencrypt(cluster)
    right = reencrypt(cluster, f"--server={cluster.apiext.url}", f"--ca-file={cluster.authority.cert}")

    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == "apiext: the server has no /stored/reencrypt: --server must name apiext's own address\n"
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.startswith("wrote 0 values again; examined ")
