"""HTTP client of another server that speaks JSON (apiserver pkg/util/webhook/webhook.go)."""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import orjson

from apiext.base.meta.encoding import json_codec
from apiext.base.webhook.clientcmd.credentials import CredentialError

if TYPE_CHECKING:
    from apiext.base.webhook.clientcmd.credentials import Credential
    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.base.webhook.transport import Transport

TIMEOUT: Final = 10.0
"""Seconds for one attempt."""
BACKOFF: Final = (0.5, 0.75, 1.125, 1.6875)
"""Seconds before each further attempt."""
_JITTER: Final = 0.2
"""The maximum random extension of a pause, as its share."""
_UNREACHABLE: Final = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
_RETRIABLE: Final = frozenset({429, 500, 504})


Post = Callable[[str, Any], Awaitable[Any]]
"""Sends JSON to a path and returns the JSON answer (WebhookClient.post). Raises WebhookError."""


class WebhookError(Exception):
    """A call failed. `again` means that another attempt may succeed; `code` is the status code, 0 without an answer."""

    def __init__(self, message: str, *, again: bool = False, code: int = 0) -> None:
        super().__init__(message)
        self.again = again
        self.code = code


class WebhookClient:
    """A client of one server; it keeps connections open between calls."""

    def __init__(self, endpoint: Endpoint, *, timeout: float = TIMEOUT, backoff: Sequence[float] = BACKOFF) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._backoff = tuple(backoff)
        self._transport: Transport | None = None

    async def post(self, path: str, body: Any) -> Any:
        """POST JSON and return the JSON object of the answer. Retry after the pauses in `backoff`.

        Raises:
            WebhookError: no attempt succeeded.
        """
        data = json_codec.dumps(body, sort_keys=False)
        for seconds in self._backoff:
            try:
                return await self._json("POST", path, data)
            except WebhookError as error:
                if not error.again:
                    raise
            await asyncio.sleep(seconds * (1 + random.random() * _JITTER))  # noqa: S311 -- spreads load, guards nothing
        return await self._json("POST", path, data)

    async def get(self, path: str) -> Any:
        """Return the JSON object at a path. Make one attempt only.

        Raises:
            WebhookError: the attempt failed.
        """
        return await self._json("GET", path)

    async def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Make one attempt; return status code and content of the answer, success or not. Send a body of bytes unchanged.

        Raises:
            WebhookError: there is no answer.
        """
        data = body if body is None or isinstance(body, bytes) else json_codec.dumps(body, sort_keys=False)
        async with self._called(method, path, data, headers=headers) as (_url, response):
            return response.status, await response.read()

    @asynccontextmanager
    async def lines(self, path: str, *, longest: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET a path and yield an iterator of the answer's lines as they arrive. Drop a last line without a newline.

        Raises:
            WebhookError: the status code is not 200, the connection broke, or the answer took more than `longest` seconds in
                all or more than `silence` seconds without a byte.
        """
        limits = aiohttp.ClientTimeout(total=longest, connect=self._timeout, sock_read=silence)
        async with self._called("GET", path, limits=limits) as (url, response):
            if response.status != 200:
                _json_object(url, response, await response.read())
            yield _lines(response)

    async def _json(self, method: str, path: str, data: bytes | None = None) -> Any:
        async with self._called(method, path, data) as (url, response):
            return _json_object(url, response, await response.read())

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
        """Send a request and yield the response. Raise WebhookError for failures, also while the caller reads the response."""
        url = f"{self._endpoint.url}{path}"
        call = f'{method.capitalize()} "{url}"'
        content_type = {} if data is None else {"Content-Type": "application/json"}
        transport = self._opened()

        async def attempt(credential: Credential) -> aiohttp.ClientResponse:
            authorization = {"Authorization": credential.authorization} if credential.authorization else {}
            return await transport.session.request(
                method,
                url,
                data=data,
                headers={"Accept": "application/json", **content_type, **authorization, **(headers or {})},
                server_hostname=self._endpoint.server_name or None,
                timeout=limits or aiohttp.ClientTimeout(total=self._timeout),
            )

        try:
            async with await transport.send(attempt) as response:
                yield url, response
        except CredentialError as error:
            raise WebhookError(f"{call}: getting credentials: {error}") from error
        except TimeoutError as error:
            raise WebhookError(f"{call}: context deadline exceeded") from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookError(f"{call}: {_cause(error)}", again=isinstance(error, ConnectionResetError)) from error

    def _opened(self) -> Transport:
        if self._transport is None:
            # imported with the first call: many servers never call another one
            from apiext.base.webhook.transport import Transport

            self._transport = Transport(self._endpoint)
        return self._transport

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.session.close()


def _cause(error: Exception) -> str:
    """Return the text of an error; an unreachable address in Go's words."""
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


def _json_object(url: str, response: aiohttp.ClientResponse, data: bytes) -> Any:
    """Return the JSON object of a successful answer. Raises WebhookError for any other, with the message of its Status."""
    try:
        answer = orjson.loads(data)
    except ValueError:
        answer = None
    if 200 <= response.status < 300 and isinstance(answer, dict):
        return answer
    message = answer.get("message") if isinstance(answer, dict) else None
    again = response.status in _RETRIABLE or "Retry-After" in response.headers
    call = f'{response.method.capitalize()} "{url}"'
    invalid = f"{call}: invalid answer with code {response.status}"
    raise WebhookError(str(message or invalid), again=again, code=response.status)
