"""An aiohttp session for libraries that bring no credentials of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

    from apiext.webhook.kubeconfig import Endpoint


def open_session(endpoint: Endpoint) -> aiohttp.ClientSession:
    """A session whose requests show the endpoint's credentials, read anew for each; whoever takes it closes it."""

    async def shown(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        request.headers.update(endpoint.headers())
        if endpoint.server_name:
            request.server_hostname = endpoint.server_name
        return await handler(request)

    connector = aiohttp.TCPConnector(limit=0, ssl=endpoint.context if endpoint.context is not None else True)
    return aiohttp.ClientSession(connector=connector, headers={"User-Agent": "apiext"}, middlewares=(shown,))
