"""The pair of servers of all differential tests."""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.recordings import cases, chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Name the case of what a test sends."""
    with cases(item).case(item.name):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Name the case of what a fixture sends that several tests share: any of them may be the first one."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"
    with cases(request.node).fixture(fixturedef, name):
        return (yield)


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start the reference (etcd and kube-apiserver) until the last test of the folder; tests that use it are marked `slow`."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), durable=False) as plane:
        yield plane


@pytest.fixture(scope="package")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareServer]:
    """Start apiext on its embedded store."""
    with BareServer(tmp_path_factory.mktemp("apiext")) as server:
        yield server


@pytest.fixture(scope="package")
def live_pair(control_plane: ControlPlane, bare: BareServer, record_testsuite_property: Callable[[str, object], None]) -> Iterator[Pair]:
    """Provide apiext beside the shared reference."""
    both = Pair(control_plane, bare)
    yield both
    both.close()
    record_testsuite_property("compared", both.compared)
    record_testsuite_property("varied", both.varied)


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest, bare: BareServer) -> Iterator[Pair]:
    """Provide apiext beside the shared reference, or beside what that responded when the file was recorded."""
    with chosen(request, "live_pair", bare) as both:
        yield both
