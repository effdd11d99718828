"""The reference without admission plugins that change objects of other kinds, beside apiext with all built-in kinds."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.recordings import chosen

_PLUGINS = ("DefaultTolerationSeconds", "Priority", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition")


@pytest.fixture(scope="package")
def builtin_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareServer]:
    """Start apiext."""
    with BareServer(tmp_path_factory.mktemp("builtin-kinds"), extra_args=["--builtin-kinds"]) as server:
        yield server


@pytest.fixture(scope="package")
def live_builtin_pair(builtin_server: BareServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start the reference beside apiext."""
    disabled = f"--disable-admission-plugins={','.join(_PLUGINS)}"
    folder = tmp_path_factory.mktemp("builtin-kinds-reference")
    with (
        ControlPlane(folder, durable=False, extra_args=[disabled]) as reference,
        closing(Pair(reference, builtin_server)) as both,
    ):
        yield both


@pytest.fixture(scope="module")
def builtin_pair(request: pytest.FixtureRequest, builtin_server: BareServer) -> Iterator[Pair]:
    """Provide apiext beside the reference, or beside what that responded when the file was recorded."""
    with chosen(request, "live_builtin_pair", builtin_server) as both:
        yield both
