"""The rescue of unreadable objects on a running server, with the command line."""

import http
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd, gateway
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version
from tests.support.clients.client import Client, Reply

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME: Final = "widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/widgets"
PREFIX: Final = "/rescue"
Run = Callable[..., subprocess.CompletedProcess[str]]


def _schema(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {name: {"type": "integer"}}}}}


@pytest.fixture(scope="module")
def server(etcd: Etcd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server on etcd."""
    with ApiextServer(tmp_path_factory.mktemp("rescue"), etcd_url=etcd.url, etcd_prefix=PREFIX) as running:
        yield running


@pytest.fixture
def run(server: ApiextServer) -> Run:
    """Return a function that runs a command of the rescue against the server."""

    def invoke(*arguments: str | Path, connection: str = f"--kubeconfig={server.kubeconfig}") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "apiext", "rescue", *map(str, arguments), *connection.split()]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return invoke


@pytest.fixture
def broken(server: ApiextServer, etcd: Etcd) -> Iterator[None]:
    """Create a definition, whose objects cannot be read but for one, and delete it."""
    _ask(
        server, "POST", CRDS, crd("widgets", version("v1", storage=True, schema=_schema("new")), version("v1beta1", schema=_schema("old")))
    )
    until(lambda: _ask(server, "GET", WIDGETS).status == http.HTTPStatus.OK)
    _store(etcd, "gone", b'{"apiVersion":"example.com/v9","kind":"Widget","metadata":{"name":"gone"},"spec":{"old":1}}')
    _store(etcd, "sealed", b"k8s:enc:kms:v2:x:\xff\x00")
    _store(etcd, "good", b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"good","namespace":"default"}}')
    yield
    _ask(server, "DELETE", f"{CRDS}/{NAME}")
    for name in ("gone", "sealed"):
        gateway(etcd.url, "kv/deleterange", key=f"{PREFIX}/example.com/widgets/default/{name}".encode())
    until(lambda: _ask(server, "GET", f"{CRDS}/{NAME}").status == http.HTTPStatus.NOT_FOUND)


def _store(etcd: Etcd, name: str, data: bytes) -> None:
    gateway(etcd.url, "kv/put", key=f"{PREFIX}/example.com/widgets/default/{name}".encode(), value=data)


def _ask(server: ApiextServer, method: str, path: str, body: Any = None) -> Reply:
    with Client(server) as client:
        return client.ask(method, path, body)


@pytest.mark.usefixtures("broken")
def test_repairs_on_a_running_server(server: ApiextServer, run: Run) -> None:
    """Relabel what fits a version and delete the rest: the server lists all objects again."""
    listed = json.loads(run("list", NAME, "-o", "json").stdout)
    assert [row["key"] for row in listed] == ["default/gone", "default/sealed"]
    assert _ask(server, "GET", f"{WIDGETS}?limit=500").status == http.HTTPStatus.INTERNAL_SERVER_ERROR

    rewritten, deleted = run("rewrite", NAME, "default/gone", "--yes"), run("delete", NAME, "--all", "--yes")

    assert (rewritten.returncode, rewritten.stdout) == (0, "default/gone: rewritten as v1beta1\n")
    assert (deleted.returncode, deleted.stdout.partition(" (")[0]) == (0, "default/sealed: deleted")
    assert [item["metadata"]["name"] for item in _ask(server, "GET", WIDGETS).json["items"]] == ["gone", "good"]
    assert _ask(server, "GET", "/apis/example.com/v1beta1/namespaces/default/widgets/gone").json["spec"] == {"old": 1}


@pytest.mark.usefixtures("broken")
def test_works_on_etcd_too(server: ApiextServer, etcd: Etcd, run: Run, tmp_path: Path) -> None:
    """Read and write etcd directly; the server sees the changes."""
    store = f"--etcd-servers={etcd.url} --etcd-prefix={PREFIX}"
    exported = run("delete", NAME, "--all", "--export-to", tmp_path, "--yes", connection=store)

    assert exported.returncode == 0, exported.stderr
    assert (tmp_path / NAME / "default" / "sealed").read_bytes() == b"k8s:enc:kms:v2:x:\xff\x00"
    assert [item["metadata"]["name"] for item in _ask(server, "GET", WIDGETS).json["items"]] == ["good"]


@pytest.mark.usefixtures("broken")
def test_unblocks_a_deletion(server: ApiextServer, run: Run) -> None:
    """A definition is deleted once its unreadable objects are."""
    _ask(server, "DELETE", f"{CRDS}/{NAME}")
    listed = run("list")
    assert "its deletion waits for these objects" in listed.stdout
    assert run("delete", NAME, "--all", "--yes").returncode == 0

    until(lambda: _ask(server, "GET", f"{CRDS}/{NAME}").status == http.HTTPStatus.NOT_FOUND)


def test_reports_a_server_that_does_not_answer(run: Run) -> None:
    """Print one line if the server does not answer."""
    result = run("list", connection="--kubeconfig=/none")

    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
