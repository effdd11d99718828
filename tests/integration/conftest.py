"""The server under test as a real process, over each of its stores."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.clients.client import Client


def _server(request: pytest.FixtureRequest, folder: Path) -> ApiextServer:
    if request.param == "sqlite":
        return ApiextServer(folder)
    etcd: Etcd = request.getfixturevalue("etcd")
    return ApiextServer(folder, etcd_url=etcd.url, etcd_prefix=f"/{uuid.uuid4().hex}")


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """A server for the tests of one file; a test keeps to a group of its own and leaves the server running."""
    with _server(request, tmp_path_factory.mktemp("apiext")) as started:
        yield started


@pytest.fixture(params=["sqlite", "etcd"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiextServer]:
    """A server for one test, which may kill it."""
    with _server(request, tmp_path) as started:
        yield started


@pytest.fixture
def client(server: ApiextServer) -> Iterator[Client]:
    """An administrator of the server."""
    with Client(server) as connected:
        yield connected
