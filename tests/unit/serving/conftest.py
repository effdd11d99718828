"""A server in the test's own process."""

from collections.abc import AsyncIterator

import pytest

from tests.support.servers.in_process import InProcess, definition


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """A server without any definition."""
    async with InProcess() as running:
        yield running


@pytest.fixture
async def widgets(server: InProcess) -> InProcess:
    """A server that serves widgets.example.com."""
    await server.define(definition())
    return server
