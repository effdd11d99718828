"""HTTP client of another server that speaks JSON (apiserver pkg/util/webhook/webhook.go)."""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import orjson

from apiext.webhook.credentials import CredentialError

if TYPE_CHECKING:
    from apiext.webhook.credentials import Credential
    from apiext.webhook.kubeconfig import Endpoint

TIMEOUT: Final = 10.0
"""Seconds for one attempt."""
BACKOFF: Final = (0.5, 0.75, 1.125, 1.6875)
"""Seconds before each further attempt."""
_JITTER: Final = 0.2
"""The share of a pause that is added to it at most, by chance."""
_UNREACHABLE: Final = frozenset({errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH})
_RETRIABLE: Final = frozenset({429, 500, 504})


class WebhookError(Exception):
    """A call failed. `again` tells whether another attempt may succeed, `code` is the answer's status code, 0 without an answer."""

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
        self._certificate = b""
        """The client certificate of a plugin that the connections use."""
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Any) -> Any:
        """POST JSON and return the JSON object of the answer; retries as the backoff allows.

        Raises:
            WebhookError: no attempt succeeded.
        """
        for seconds in self._backoff:
            try:
                return await self._post_once(path, body)
            except WebhookError as error:
                if not error.again:
                    raise
            await asyncio.sleep(seconds * (1 + random.random() * _JITTER))  # noqa: S311 -- spreads load, guards nothing
        return await self._post_once(path, body)

    async def get(self, path: str) -> Any:
        """Return the JSON object at a path, by one attempt.

        Raises:
            WebhookError: the attempt failed.
        """
        async with self._called("GET", path) as (url, response):
            return _json_object(url, response, await response.read())

    async def ask(self, path: str, *, method: str = "GET", body: Any = None, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Return status code and content of the answer to one attempt, success or not. A body of bytes is sent unchanged.

        Raises:
            WebhookError: there is no answer.
        """
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        async with self._called(method, path, data, headers=headers) as (_url, response):
            return response.status, await response.read()

    @asynccontextmanager
    async def lines(self, path: str, *, longest: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """GET a path and yield an iterator of the answer's lines, as they arrive; a last line without a newline is dropped.

        Raises:
            WebhookError: the status code is not 200, the connection broke, or the answer took more than `longest` seconds in
                all or more than `silence` seconds without a byte.
        """
        limits = aiohttp.ClientTimeout(total=longest, connect=self._timeout, sock_read=silence)
        async with self._called("GET", path, limits=limits) as (url, response):
            if response.status != 200:
                _json_object(url, response, await response.read())
            yield _lines(response)

    async def _post_once(self, path: str, body: Any) -> Any:
        async with self._called("POST", path, orjson.dumps(body)) as (url, response):
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
        """Send a request and yield the response; raise WebhookError for what fails, until the caller has read the response."""
        url = f"{self._endpoint.url}{path}"
        call = f'{method.capitalize()} "{url}"'
        try:
            sent = {"Accept": "application/json", **(headers or {})}
            if data is not None:
                sent.setdefault("Content-Type", "application/json")
            limits = limits or aiohttp.ClientTimeout(total=self._timeout)
            credential = await self._credential()
            response = await self._send(method, url, data, sent, limits, credential)
            if response.status == HTTPStatus.UNAUTHORIZED and self._endpoint.reject(credential):
                response.close()
                response = await self._send(method, url, data, sent, limits, await self._credential())
            async with response:
                yield url, response
        except CredentialError as error:
            raise WebhookError(f"{call}: getting credentials: {error}") from error
        except TimeoutError as error:
            raise WebhookError(f"{call}: context deadline exceeded") from error
        except (aiohttp.ClientError, OSError) as error:
            raise WebhookError(f"{call}: {_cause(error)}", again=isinstance(error, ConnectionResetError)) from error

    async def _send(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], limits: aiohttp.ClientTimeout, credential: Credential
    ) -> aiohttp.ClientResponse:
        own = {"Authorization": credential.authorization} if credential.authorization else {}
        return await self._connections().request(
            method, url, data=data, headers={**own, **headers}, server_hostname=self._endpoint.server_name or None, timeout=limits
        )

    async def _credential(self) -> Credential:
        """Return the credential; a new client certificate closes the connections of the old one (client-go exec.go, onRotate)."""
        credential = await self._endpoint.credential()
        if credential.certificate != self._certificate:
            self._endpoint.use_certificate(credential)
            self._certificate = credential.certificate
            await self.close()
        return credential

    def _connections(self) -> aiohttp.ClientSession:
        if self._session is None:
            tls = self._endpoint.context if self._endpoint.context is not None else True
            connector = aiohttp.TCPConnector(ssl=tls)
            self._session = aiohttp.ClientSession(connector=connector, headers={"User-Agent": "apiext"})
        return self._session

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def open_session(endpoint: Endpoint) -> aiohttp.ClientSession:
    """Return a session for libraries without credentials of their own; the caller closes it.

    Each request has the endpoint's current credential. Where that cannot be had, the request raises aiohttp.ClientError.
    """
    certificate = b""

    async def authenticate(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if endpoint.server_name:
            request.server_hostname = endpoint.server_name
        credential = await prepare(request)
        response = await handler(request)
        if response.status == HTTPStatus.UNAUTHORIZED and endpoint.reject(credential):
            response.close()
            await prepare(request)
            response = await handler(request)
        return response

    async def prepare(request: aiohttp.ClientRequest) -> Credential:
        nonlocal certificate
        try:
            credential = await endpoint.credential()
        except CredentialError as error:
            raise aiohttp.ClientError(f"getting credentials: {error}") from error
        if credential.certificate != certificate:
            endpoint.use_certificate(credential)
            certificate = credential.certificate
        if credential.authorization:
            request.headers["Authorization"] = credential.authorization
        return credential

    connector = aiohttp.TCPConnector(limit=0, ssl=endpoint.context if endpoint.context is not None else True)
    return aiohttp.ClientSession(connector=connector, headers={"User-Agent": "apiext"}, middlewares=(authenticate,))


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
