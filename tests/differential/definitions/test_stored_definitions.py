"""Tests of stored definitions that today's validation refuses."""

import json
from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Pair
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from tests.differential.cases.stored_definitions import GROUP, STORED, requests
from tests.differential.helpers.differences import compared

pytestmark = pytest.mark.slow

PREFIX = "/stored"


@pytest.fixture(scope="module")
def sharing(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers on one etcd, each with its own prefix."""
    folder = tmp_path_factory.mktemp("apiext-etcd")
    with BareServer(folder, etcd_url=control_plane.etcd_url, etcd_prefix=PREFIX) as server:
        both = Pair(control_plane, server)
        yield both
        both.remove_definitions(GROUP)
        both.remove_definitions("stored.k8s.io")
        both.close()


@pytest.mark.parametrize("name", STORED)
def test_stored(sharing: Pair, control_plane: ControlPlane, name: str) -> None:
    """Keep accepting what a stored definition has, and nothing else."""
    crd = STORED[name]
    for prefix in (control_plane.etcd_prefix, PREFIX):
        key = f"{prefix}/apiextensions.k8s.io/customresourcedefinitions/{crd['metadata']['name']}"
        gateway(control_plane.etcd_url, "kv/put", key=key.encode(), value=json.dumps(crd).encode())

    compared(sharing, requests(crd))
