"""An HTTP/2 server on a plain socket, and a client."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.http2_site import Client, Site, open_site


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    """Return a running server."""
    async with open_site() as running:
        yield running


@pytest_asyncio.fixture
async def client(site: Site) -> Client:
    """Return a client's connection to the server."""
    return await site.connect()
