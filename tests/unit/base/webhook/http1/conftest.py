"""Runs the tests of connections on both event loops: asyncio's, and the server's."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import uvloop

from apiext.base.webhook.http1.pool import ConnectionPool
from tests.support.raw_http import RawServer

LIMIT = 1000
"""Bytes of an answer."""


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return the makers of the event loops."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def pool() -> AsyncIterator[ConnectionPool]:
    """Return a pool for answers of at most `LIMIT` bytes."""
    made = ConnectionPool(LIMIT)
    yield made
    await made.close()


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    """Run a server without answers."""
    made = RawServer([])
    async with made.running():
        yield made
