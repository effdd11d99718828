"""Server in the process of the tests."""

from collections.abc import AsyncIterator

import pytest

from tests.support.builders.crds import widget_crd
from tests.support.servers.in_process import InProcess


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server without definitions."""
    async with InProcess() as running:
        yield running


@pytest.fixture
async def widgets(server: InProcess) -> InProcess:
    """Yield a server that serves widgets.example.com."""
    await server.define(widget_crd())
    return server
