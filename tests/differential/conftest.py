"""The pair of servers of all differential tests."""

from collections.abc import Callable, Iterator

import pytest

from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start the reference (etcd and kube-apiserver) until the last test of the folder; tests that use it are marked `slow`."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), durable=False) as plane:
        yield plane


@pytest.fixture(scope="package")
def pair(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, record_testsuite_property: Callable[[str, object], None]
) -> Iterator[Pair]:
    """Start apiext on its embedded store beside the shared reference."""
    with BareServer(tmp_path_factory.mktemp("apiext")) as server:
        both = Pair(control_plane, server)
        yield both
        both.close()
        record_testsuite_property("compared", both.compared)
        record_testsuite_property("varied", both.varied)
