"""Clients that other projects wrote see the same on kube-apiserver and on apiext, down to the transcript."""

from collections.abc import Iterator

import pytest

from hack.lib.clients import catalog, packages
from hack.lib.clients.servers import Servers

pytestmark = [pytest.mark.slow, pytest.mark.long("hack/lib/clients", "hack/client-programs", "hack/controllers"), pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Run both servers for all clients."""
    with Servers(tmp_path_factory.mktemp("clients")) as running:
        yield running


@pytest.mark.parametrize("name", catalog.CLIENTS)
def test_sees_no_difference(servers: Servers, name: str) -> None:
    """Run the client's program on both servers; its packages stay in the cache folder."""
    try:
        command = catalog.CLIENTS[name]()
    except packages.UnavailableError as error:
        pytest.skip(f"{name} cannot be had: {error}")

    reference, apiext = servers.transcripts(name, command).values()

    assert not reference.failure
    assert reference.lines
    assert reference.differences(apiext) == []
