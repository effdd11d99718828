"""Serves one handler without the real server's filters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import RawTestServer, TestClient

from apiext.api.endpoints.request import Handler
from apiext.api.endpoints.responsewriters.status import status_reply
from apiext.base.meta.errors import StatusError

Client = TestClient[web.BaseRequest, None]


@asynccontextmanager
async def client_of(handler: Handler) -> AsyncIterator[Client]:
    """Yield a client of a handler. Render a StatusError as the real server does."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await handler(request)
        except StatusError as error:
            return status_reply(request, error)

    client: Client = TestClient(RawTestServer(answer), auto_decompress=False, headers={"Accept-Encoding": "identity"})
    async with client:
        yield client
