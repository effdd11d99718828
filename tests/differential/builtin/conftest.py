"""The reference without admission plugins that change objects of other kinds, beside apiext with all built-in kinds."""

from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane

_PLUGINS = ("DefaultTolerationSeconds", "Priority", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition")


@pytest.fixture(scope="package")
def builtin_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers."""
    folder = tmp_path_factory.mktemp("builtin-kinds")
    disabled = f"--disable-admission-plugins={','.join(_PLUGINS)}"
    with (
        ControlPlane(folder / "reference", durable=False, extra_args=[disabled]) as reference,
        BareServer(folder / "apiext", extra_args=["--builtin-kinds"]) as server,
    ):
        both = Pair(reference, server)
        yield both
        both.close()
