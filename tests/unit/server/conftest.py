"""A host of definitions, and a server that mirrors it."""

from collections.abc import AsyncIterator

import pytest

from apiext.base.meta.host_annotations import PHASE
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.host_follower import SERVED, Replica, crd
from tests.support.servers.in_process import InProcess


@pytest.fixture
async def host() -> AsyncIterator[FakeHost]:
    """Yield a host with a selected definition and another one."""
    async with FakeHost() as host:
        await host.put(crd("gadgets", "Gadget", labels={}))
        applied = {"kubectl.kubernetes.io/last-applied-configuration": "{}", PHASE: "Serving", "note": "a"}
        await host.put(crd(labels=SERVED | {"a": "b"}, annotations=applied))
        yield host


@pytest.fixture
async def replica(host: FakeHost, server: InProcess) -> AsyncIterator[Replica]:
    """Yield a server that mirrors the host."""
    async with Replica(host, server) as replica:
        yield replica


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server without definitions."""
    async with InProcess() as running:
        yield running
