"""Fixtures that start the server under test as a process, on each of its stores."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from tests.support.clients.browser import Browser, Chromium
from tests.support.clients.client import Client


def _server(request: pytest.FixtureRequest, folder: Path) -> ApiextServer:
    if request.param == "sqlite":
        return ApiextServer(folder)
    etcd: Etcd = request.getfixturevalue("etcd")
    return ApiextServer(folder, etcd_url=etcd.url, etcd_prefix=f"/{uuid.uuid4().hex}")


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start the reference (etcd and kube-apiserver) until the last test of the folder; tests that use it are marked `slow`."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), durable=False) as plane:
        yield plane


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server for the tests of one file; a test uses its own group and does not stop it."""
    with _server(request, tmp_path_factory.mktemp("apiext")) as started:
        yield started


@pytest.fixture(params=["sqlite", "etcd"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server for one test, which may kill it."""
    with _server(request, tmp_path) as started:
        yield started


@pytest.fixture
def client(server: ApiextServer) -> Iterator[Client]:
    """Return an administrator of the server."""
    with Client(server) as connected:
        yield connected


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Start Chromium for the tests of one file."""
    with Chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
async def browser(chromium: Chromium) -> AsyncIterator[Browser]:
    """Connect to Chromium."""
    async with Browser(chromium.url) as connected:
        yield connected
