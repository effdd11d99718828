"""POSTs of JSON to another server, tried again where that promises something (apiserver pkg/util/webhook/webhook.go)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import orjson

if TYPE_CHECKING:
    from apiext.webhook.kubeconfig import Endpoint

TIMEOUT: Final = 10.0
"""Seconds for one call."""
BACKOFF: Final = (0.5, 0.75, 1.125, 1.6875)
"""Seconds before each further call."""
_JITTER: Final = 0.2
_AGAIN: Final = frozenset({429, 500, 504})


class WebhookError(Exception):
    """A call without a usable answer; `again` tells whether another one may have it."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class WebhookClient:
    """Connections to one server, kept open between calls."""

    def __init__(self, endpoint: Endpoint, *, timeout: float = TIMEOUT, backoff: Sequence[float] = BACKOFF) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._backoff = tuple(backoff)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Any) -> Any:
        """Send JSON and return the JSON that comes back, after several calls if need be.

        Raises:
            WebhookError: no call was answered with success.
        """
        for seconds in self._backoff:
            try:
                return await self._once(path, body)
            except WebhookError as error:
                if not error.again:
                    raise
            await asyncio.sleep(seconds * (1 + random.random() * _JITTER))  # noqa: S311 -- spreads load, guards nothing
        return await self._once(path, body)

    async def _once(self, path: str, body: Any) -> Any:
        url = f"{self._endpoint.url}{path}"
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json", **self._endpoint.headers()}
            async with self._connections().post(
                url,
                data=orjson.dumps(body),
                headers=headers,
                server_hostname=self._endpoint.server_name or None,
            ) as response:
                data = await response.read()
        except TimeoutError as error:
            raise WebhookError(f'Post "{url}": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookError(f'Post "{url}": {error}', again=isinstance(error, ConnectionResetError)) from error
        return _parsed(url, response, data)

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            tls = self._endpoint.context if self._endpoint.context is not None else True
            connector = aiohttp.TCPConnector(ssl=tls)
            limit = aiohttp.ClientTimeout(total=self._timeout)
            self._session = aiohttp.ClientSession(connector=connector, timeout=limit, headers={"User-Agent": "apiext"})
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _parsed(url: str, response: aiohttp.ClientResponse, data: bytes) -> Any:
    try:
        answer = orjson.loads(data)
    except ValueError:
        answer = None
    if 200 <= response.status < 300 and isinstance(answer, dict):
        return answer
    message = answer.get("message") if isinstance(answer, dict) else None
    again = response.status in _AGAIN or "Retry-After" in response.headers
    raise WebhookError(str(message or f'Post "{url}": an answer with code {response.status} that cannot be used'), again=again)
