"""Tests of the server of the test kit, and of its end with the parent process."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from apiext.tools.testkit.kit_error import KitError
from apiext.tools.testkit.server import Server
from hack.lib.servers.process import environment

ROOT: Final = Path(__file__).resolve().parents[3]
STORY: Final = ROOT / "crds" / "stories" / "composite"
RELEASES: Final = ROOT / "crds" / "releases"
ROUTES: Final = "routes.net.example.com"

PARENT: Final = """
import subprocess, sys, threading
started = []
def start():
    command = [sys.executable, "-m", "apiext", "serve", "--secure-port=0", "--data-dir=data", "--exit-with-parent"]
    started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
thread = threading.Thread(target=start)
thread.start()
thread.join()
server, = started
print(server.stdout.readline().decode().split("(")[0], server.pid, flush=True)
sys.stdin.read()
"""
"""Starts a server in a thread that ends, and waits."""


def test_a_server_without_pytest() -> None:
    """Serve in a temporary folder while a block runs; go to a release and back."""
    with Server(RELEASES / "1") as server:
        folder = server.folder
        path = f"/apis/net.example.com/v1alpha1/namespaces/{server.create_namespace('kit')}/routes"
        server.request("POST", path, {"metadata": {"name": "a"}, "spec": {"host": "a.example.com"}} | _kind("v1alpha1"))
        assert server.advance(RELEASES / "2").stored_versions == {ROUTES: ["v1alpha1", "v1"]}
        assert server.advance(RELEASES / "1").stored_objects == {ROUTES: {"v1alpha1": 1}}
        assert server.environment["KUBECONFIG"] == str(server.kubeconfig)
        assert server.url.startswith("https://127.0.0.1:")
        os.kill(server.pid, 0)

    assert not folder.exists()
    with pytest.raises(KitError, match="has not been started"):
        _ = server.pid


def test_a_server_takes_xrds() -> None:
    """Serve the CRDs of an XRD, and go to its next release and back, along the same steps as for CRDs that nobody else makes."""
    names = [f"{plural}.platform.example.com" for plural in ("databases", "xdatabases")]
    with Server() as server:
        assert sorted(server.load(STORY / "1")) == names
        report = server.advance(STORY / "2")
        assert report.stored_versions == {name: ["v1", "v2"] for name in names}
        assert report.steps == {name: [f"Apply the new definition of {name}"] for name in names}
        assert server.advance(STORY / "1").stored_versions == {name: ["v1"] for name in names}


def test_a_server_with_flags_and_a_folder(tmp_path: Path) -> None:
    """Pass flags, keep the folder with its log, and report what the server refuses."""
    with Server(flags=["--v=3", "--service-address", "default/webhook=127.0.0.1:1"], folder=tmp_path / "kept") as server:
        with pytest.raises(KitError, match="no CustomResourceDefinition is there"):
            server.load(RELEASES / "objects")
        with pytest.raises(KitError, match="404 page not found"):
            server.request("GET", "/apis/nothing.example.com/v1")
        server.load(RELEASES / "2")
        with pytest.raises(KitError, match=r"the server refuses routes\.net\.example\.com: .*status.storedVersions"):
            server.load(RELEASES / "1")
        # a plan that calls the webhook's Service where the flag says
        server.advance(RELEASES / "1")

    assert f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{ROUTES}" in server.log


def test_a_server_ends_with_its_parent(tmp_path: Path) -> None:
    """End a server when its parent is killed, and not when the thread ends that started it."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
        env=environment(PYTHONPATH=str(ROOT)),
    )
    with parent:
        assert parent.stdout is not None
        ready, _, pid = parent.stdout.readline().rpartition(" ")
        handle = os.pidfd_open(int(pid))
        assert ready.startswith("apiext is ready")
        os.kill(int(pid), 0)
        parent.send_signal(signal.SIGKILL)
    # readable once the server has ended
    assert select.select([handle], [], [], 60.0)[0]
    os.close(handle)


def _kind(version: str) -> dict[str, str]:
    return {"apiVersion": f"net.example.com/{version}", "kind": "Route"}
