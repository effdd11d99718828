"""Calls of another server that speaks JSON (apiserver pkg/util/webhook/webhook.go)."""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
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
_UNREACHABLE: Final = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
_AGAIN: Final = frozenset({429, 500, 504})


class WebhookError(Exception):
    """A call without a usable answer; `again` tells whether another one may have it, `code` the answer's code, 0 without one."""

    def __init__(self, message: str, *, again: bool = False, code: int = 0) -> None:
        super().__init__(message)
        self.again = again
        self.code = code


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

    async def get(self, path: str) -> Any:
        """The JSON at a path, by one call. Raises WebhookError."""
        async with self._called("GET", path) as (url, response):
            return _parsed(url, response, await response.read())

    async def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """The code and the content that one call is answered with, whatever they are. A body of bytes is sent as it is.

        Raises:
            WebhookError: there is no answer.
        """
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        async with self._called(method, path, data, headers=headers) as (_url, response):
            return response.status, await response.read()

    @asynccontextmanager
    async def lines(self, path: str, *, longest: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of an answer as they come, once it has begun.

        It ends in order, or fails: after so many seconds in all, or as many seconds without a byte.

        Raises:
            WebhookError: the call has failed, or broke off.
        """
        limits = aiohttp.ClientTimeout(total=longest, connect=self._timeout, sock_read=silence)
        async with self._called("GET", path, limits=limits) as (url, response):
            if response.status != 200:
                _parsed(url, response, await response.read())
            yield _lines(response)

    async def _once(self, path: str, body: Any) -> Any:
        async with self._called("POST", path, orjson.dumps(body)) as (url, response):
            return _parsed(url, response, await response.read())

    @asynccontextmanager
    async def _called(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        *,
        limits: aiohttp.ClientTimeout | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[tuple[str, aiohttp.ClientResponse]]:
        """An answer that is being read; what goes wrong meanwhile becomes a WebhookError."""
        url = f"{self._endpoint.url}{path}"
        said = f'{method.capitalize()} "{url}"'
        try:
            sent = {"Accept": "application/json", **self._endpoint.headers(), **(headers or {})}
            if data is not None:
                sent.setdefault("Content-Type", "application/json")
            async with self._connections().request(
                method,
                url,
                data=data,
                headers=sent,
                server_hostname=self._endpoint.server_name or None,
                timeout=limits or aiohttp.ClientTimeout(total=self._timeout),
            ) as response:
                yield url, response
        except TimeoutError as error:
            raise WebhookError(f"{said}: context deadline exceeded") from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookError(f"{said}: {_cause(error)}", again=isinstance(error, ConnectionResetError)) from error

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            tls = self._endpoint.context if self._endpoint.context is not None else True
            connector = aiohttp.TCPConnector(ssl=tls)
            self._session = aiohttp.ClientSession(connector=connector, headers={"User-Agent": "apiext"})
        return self._session

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _cause(error: Exception) -> str:
    """What went wrong; that nobody is at an address in Go's words."""
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno in _UNREACHABLE:
        host = f"[{error.host}]" if ":" in error.host else error.host
        return f"dial tcp {host}:{error.port}: connect: {os.strerror(error.os_error.errno).lower()}"
    return str(error)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line


def _parsed(url: str, response: aiohttp.ClientResponse, data: bytes) -> Any:
    try:
        answer = orjson.loads(data)
    except ValueError:
        answer = None
    if 200 <= response.status < 300 and isinstance(answer, dict):
        return answer
    message = answer.get("message") if isinstance(answer, dict) else None
    again = response.status in _AGAIN or "Retry-After" in response.headers
    said = f'{response.method.capitalize()} "{url}"'
    unusable = f"{said}: an answer with code {response.status} that cannot be used"
    raise WebhookError(str(message or unusable), again=again, code=response.status)
