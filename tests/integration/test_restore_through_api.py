"""Restoration through the API of a server that may refuse objects."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import CRDS, Client

pytestmark = pytest.mark.slow
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
DEFINITION: Final = f"{CRDS}/widgets.example.com"
STRICT: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"enum": ["m"], "type": "string"}}}}}


def run(server: ApiextServer, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the kubeconfig of the administrator."""
    command = [sys.executable, "-m", "apiext", *arguments, f"--kubeconfig={server.kubeconfig}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_names_what_the_server_refuses(tmp_path: Path) -> None:
    """Need the definition; name objects that are invalid or were being deleted, restore the others, and exit with 1."""
    backup = str(tmp_path / "widgets.tar.gz")
    with ApiextServer(tmp_path) as server, Client(server) as client:
        client.define(crd("widgets", version("v1", storage=True)))
        for name, size in {"good": "m", "large": "xxl"}.items():
            client.must("POST", WIDGETS, widget(name, size=size))
        leaving = widget("leaving", size="m")
        leaving["metadata"]["finalizers"] = ["example.com/own"]
        client.must("POST", WIDGETS, leaving)
        client.must("DELETE", f"{WIDGETS}/leaving")
        assert run(server, "backup", backup).returncode == 0
        client.must("PATCH", f"{WIDGETS}/leaving", {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"})
        client.must("DELETE", DEFINITION)
        until(lambda: client.ask("GET", DEFINITION).status == 404)

        without = run(server, "restore", backup, "--through-api")
        client.define(crd("widgets", version("v1", storage=True, schema=STRICT)))
        done = run(server, "restore", backup, "--through-api")
        names = [item["metadata"]["name"] for item in client.must("GET", WIDGETS)["items"]]

    assert without.returncode == 1
    assert "the server does not serve widgets.example.com; create its definition first" in without.stderr
    assert (done.returncode, names) == (1, ["good"])
    assert done.stdout.startswith("created 1, replaced 0, there already 0\n")
    assert "example.com/widgets/default/leaving: it was being deleted\n" in done.stderr
    assert "example.com/widgets/default/large: " in done.stderr
    assert "2 not restored" in done.stderr


def test_needs_a_server(tmp_path: Path) -> None:
    """Refuse the flag for a store."""
    with ApiextServer(tmp_path) as server:
        assert run(server, "backup", str(tmp_path / "backup.tar.gz")).returncode == 0
        done = run(server, "restore", str(tmp_path / "backup.tar.gz"), "--through-api", f"--data-dir={tmp_path / 'other'}")

    assert (done.returncode, done.stderr) == (2, "apiext: --through-api needs a server, not a store\n")
