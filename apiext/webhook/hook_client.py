"""Calls of the webhooks that API objects configure (apiserver pkg/util/webhook/client.go, client-go rest/request.go).

Errors have the reference's texts. Unlike WebhookClient, which calls servers that flags name, a HookClient has no credentials.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import aiohttp
import orjson
from yarl import URL

from apiext.meta.golang import formatting
from apiext.meta.limits import MAX_HOOK_RESPONSE_BYTES, MAX_HOOK_STATUS_BYTES
from apiext.scheduling.tracebacks import without_frames
from apiext.webhook.call_errors import CallErrors
from apiext.webhook.client_config import ClientConfig, service_host, tls_context
from apiext.webhook.proxy_environment import proxy_of
from apiext.webhook.service_resolver import ServiceResolver

if TYPE_CHECKING:
    import ssl

    from apiext.webhook.service_addresses import ServiceAddresses
    from apiext.webhook.tls_errors import ReadCertificate

TIMEOUT: Final = 30.0
"""Seconds of a call with its retries, up to the end of the answer."""
_MAX_RETRIES: Final = 10
"""Maximum of retries after answers with Retry-After."""
_MAX_DIGITS: Final = 9
"""Maximum of digits in Retry-After; longer values are ignored."""
_MAX_REDIRECTS: Final = 10
_IDLE_SECONDS: Final = 90.0
"""Seconds that an idle connection stays open, as in Go."""
_MAX_SHOWN: Final = 2048
"""Bytes of an answer that an error shows."""
_HEADERS: Final = {
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD: Final = frozenset({307, 308})
_ERRORS: Final = (aiohttp.ClientError, OSError, ValueError)
_SUCCESS: Final = range(HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT + 1)


_OF_PROXIES: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""Codes of a proxy's answers for a webhook that does not answer."""


class HookError(Exception):
    """A call of a webhook failed, or its answer is an error. The text is the reference's."""

    def __init__(self, message: str, *, answered: bool = False) -> None:
        super().__init__(message)
        self.answered = answered
        """Whether there is an answer: the webhook may accept another call."""


class HookClients:
    """The connections to all webhooks. Webhooks with the same address and authorities share connections."""

    def __init__(self, services: ServiceAddresses, read: ReadCertificate) -> None:
        """Create the clients. `services` overrides addresses of Services; `read` parses certificates for error texts."""
        self._addresses = {service_host(*service): address for service, address in services.items()}
        self.errors = CallErrors(self._addresses, read)
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._contexts: WeakValueDictionary[tuple[bytes, ...], ssl.SSLContext] = WeakValueDictionary()
        """The contexts of clients, by trusted certificates; one with those of the system takes about a megabyte."""

    def client(self, config: ClientConfig) -> HookClient:
        """Return a client of one webhook."""
        return HookClient(self, config)

    async def context(self, authorities: tuple[bytes, ...]) -> ssl.SSLContext:
        """Return the context for trusted certificates; all clients share it."""
        if authorities not in self._contexts:
            # reading the system's certificates takes tens of milliseconds
            made = await asyncio.to_thread(tls_context, authorities)
            return self._contexts.setdefault(authorities, made)
        return self._contexts[authorities]

    def has_address(self, host: str | None) -> bool:
        """Report whether the host of a Service has an overridden address, so that calls use no proxy."""
        return host in self._addresses

    def session(self) -> aiohttp.ClientSession:
        """Return the session of all connections; the first call opens it.

        Raises:
            HookError: the clients were closed.
        """
        if self._closed:
            raise HookError("the server is shutting down")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, resolver=ServiceResolver(self._addresses))
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers=_HEADERS)
        return self._session

    async def close(self) -> None:
        """Close the connections; running and later calls fail."""
        self._closed = True
        if self._session is not None:
            await self._session.close()


class HookClient:
    """A client of one webhook."""

    def __init__(self, clients: HookClients, config: ClientConfig) -> None:
        self._clients = clients
        self._authorities = config.authorities
        self._context: ssl.SSLContext | None = None
        self.url = config.url.update_query(timeout=f"{TIMEOUT:g}s")

    async def post(self, body: bytes) -> bytes:
        """POST JSON and return the body of a successful answer.

        Raises:
            HookError: the call failed.
        """
        loop = asyncio.get_running_loop()
        deadline, retries = loop.time() + TIMEOUT, _MAX_RETRIES
        response, data = await self._attempt(body, deadline)
        while retries and (pause := _retry_after(response)) is not None:
            await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
            response, data = await self._attempt(body, deadline)
            retries -= 1
        if response.status not in _SUCCESS:
            raise HookError(_refusal(response, data), answered=response.status not in _OF_PROXIES)
        if not data:
            content_type = response.headers.get("Content-Type") or "application/json"
            raise HookError(f"0-length response with status code: {response.status} and content type: {content_type}", answered=True)
        return data

    async def _attempt(self, body: bytes, deadline: float) -> tuple[aiohttp.ClientResponse, bytes]:
        """Return an answer and its body. Raises HookError if there is none."""
        describe = self._clients.errors.describe
        response = await self._redirected(body, deadline)
        try:
            async with asyncio.timeout_at(deadline), response:
                return response, await _read(response)
        except _ERRORS as error:
            cause = await describe(error)
            # the connection keeps its error
            without_frames(error)
            raise HookError(f"unexpected error when reading response body. Please retry. Original error: {cause}") from None

    async def _redirected(self, body: bytes, deadline: float) -> aiohttp.ClientResponse:
        """Return an answer after following redirects. Raises HookError if there is none."""
        method, url, data, location = "POST", self.url, body, ""
        for _ in range(_MAX_REDIRECTS):
            try:
                async with asyncio.timeout_at(deadline):
                    response = await self._request(method, url, data)
                location = response.headers.get("Location", "")
                if response.status not in _REDIRECTS or not location:
                    return response
                response.release()
                url = url.join(URL(location))
            except _ERRORS as error:
                cause = await self._clients.errors.describe(error)
                without_frames(error)
                raise HookError(_failed(str(url), cause)) from None
            if response.status not in _SAME_METHOD:
                method, data = "GET", b""
        raise HookError(_failed(location, f"stopped after {_MAX_REDIRECTS} redirects"), answered=True)

    async def _request(self, method: str, url: URL, body: bytes) -> aiohttp.ClientResponse:
        if self._context is None:
            self._context = await self._clients.context(self._authorities)
        return await self._clients.session().request(
            method,
            url,
            data=body or None,
            ssl=self._context,
            proxy=None if self._clients.has_address(url.host) else proxy_of(url),
            timeout=aiohttp.ClientTimeout(total=None),
            allow_redirects=False,
        )


def _failed(url: str, cause: str) -> str:
    return f"Post {formatting.quote(url)}: {cause}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer. Raises HookError if it is too large."""
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > MAX_HOOK_RESPONSE_BYTES:
            # free them: the error's traceback refers to `data`
            data.clear()
            raise HookError(f"the response of the webhook is larger than {MAX_HOOK_RESPONSE_BYTES} bytes", answered=True)
    return bytes(data)


def _retry_after(response: aiohttp.ClientResponse) -> int | None:
    """Return the seconds in the Retry-After of a busy webhook, None without a valid one."""
    code, text = response.status, response.headers.get("Retry-After", "")
    is_busy = code == HTTPStatus.TOO_MANY_REQUESTS or code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return int(text) if is_busy and text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


_MESSAGES: Final = {
    HTTPStatus.CONFLICT: "the server reported a conflict",
    HTTPStatus.NOT_FOUND: "the server could not find the requested resource",
    HTTPStatus.BAD_REQUEST: "the server rejected our request for an unknown reason",
    HTTPStatus.UNAUTHORIZED: "the server has asked for the client to provide credentials",
    HTTPStatus.METHOD_NOT_ALLOWED: "the server does not allow this method on the requested resource",
    HTTPStatus.UNPROCESSABLE_ENTITY: "the server rejected our request due to an error in our request",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is currently unable to handle the request",
    HTTPStatus.GATEWAY_TIMEOUT: "the server was unable to return a response in the time allotted, but may still be processing the request",
    HTTPStatus.TOO_MANY_REQUESTS: "the server has received too many requests and has asked us to try again later",
}
_SHOWS_BODY: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE})
_NOT_ACCEPTABLE: Final = "the server was unable to respond with a content type that the client supports"


def _refusal(response: aiohttp.ClientResponse, data: bytes) -> str:
    """Return the message of the Status in an unsuccessful answer, else the reference's text for its code."""
    try:
        status = orjson.loads(data) if len(data) <= MAX_HOOK_STATUS_BYTES else None
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("status") == "Failure":
        return str(status.get("message") or "")
    code = response.status
    content_type = response.headers.get("Content-Type", "")
    is_text = not content_type or content_type.lower().startswith("text/")
    body = formatting.trim_space(data[:_MAX_SHOWN].decode(errors="replace")) if is_text else "unknown"
    if code in _SHOWS_BODY:
        return _NOT_ACCEPTABLE if code == HTTPStatus.NOT_ACCEPTABLE and body in {"", "unknown"} else body
    if code in _MESSAGES:
        return _MESSAGES[HTTPStatus(code)]
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f"an error on the server ({formatting.quote(body)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
