"""Calls of the webhooks that API objects configure (apiserver pkg/util/webhook/client.go, client-go rest/request.go).

Errors have the reference's texts. Unlike WebhookClient, which calls servers that flags name, a HookClient has credentials only if a
kubeconfig has a user for its server.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import aiohttp
from yarl import URL

from apiext.meta.golang import formatting
from apiext.meta.limits import MAX_HOOK_RESPONSE_BYTES
from apiext.scheduling.tracebacks import without_frames
from apiext.webhook.call_errors import CallErrors, unknown_host
from apiext.webhook.client_config import ClientConfig, service_host, tls_context
from apiext.webhook.hook_answers import HookError, check_answer, retry_after
from apiext.webhook.host_addresses import HostAddresses
from apiext.webhook.proxy_environment import proxy_of

if TYPE_CHECKING:
    import ssl

    from apiext.webhook.clientcmd.credentials import Credential
    from apiext.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.webhook.hook_users import HookUsers
    from apiext.webhook.service_addresses import Address, ServiceAddresses
    from apiext.webhook.tls_errors import ReadCertificate

TIMEOUT: Final = 30.0
"""Seconds of a call with its retries, up to the end of the answer."""
_MAX_RETRIES: Final = 10
"""Maximum of retries after answers with Retry-After."""
MAX_REDIRECTS: Final = 10
_IDLE_SECONDS: Final = 90.0
"""Seconds that an idle connection stays open, as in Go."""
_HEADERS: Final = {
    "Accept": "application/json, */*",
    "Accept-Encoding": "gzip",
    "Content-Type": "application/json",
    "User-Agent": "kube-apiserver-admission",
}
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD: Final = frozenset({307, 308})
_ERRORS: Final = (aiohttp.ClientError, OSError, ValueError)
_UNAUTHORIZED: Final = 401


class HookClients:
    """The connections to all webhooks. Webhooks with the same address and authorities share connections."""

    def __init__(self, services: ServiceAddresses, read: ReadCertificate, users: HookUsers | None = None) -> None:
        """Create the clients. `services` overrides addresses of Services; `read` parses certificates for error texts.

        `users` have the credentials for webhooks.
        """
        self.addresses = HostAddresses({service_host(*service): address for service, address in services.items()})
        self.errors = CallErrors(read)
        self.users = users
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._contexts: WeakValueDictionary[tuple[bytes, ...], ssl.SSLContext] = WeakValueDictionary()
        """The contexts of clients, by trusted certificates; one with those of the system takes about a megabyte."""

    def client(self, config: ClientConfig, *, max_redirects: int = MAX_REDIRECTS) -> HookClient:
        """Return a client of one webhook. With `max_redirects` of 0, an answer with a redirect is an error."""
        return HookClient(self, config, max_redirects)

    async def context(self, authorities: tuple[bytes, ...]) -> ssl.SSLContext:
        """Return the context for trusted certificates; all clients without a certificate of their own share it."""
        if authorities not in self._contexts:
            # reading the system's certificates takes tens of milliseconds
            made = await asyncio.to_thread(tls_context, authorities)
            return self._contexts.setdefault(authorities, made)
        return self._contexts[authorities]

    def session(self) -> aiohttp.ClientSession:
        """Return the session of all connections; the first call opens it.

        Raises:
            HookError: the clients were closed.
        """
        if self._closed:
            raise HookError("the server is shutting down")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers=_HEADERS)
        return self._session

    async def close(self) -> None:
        """Close the connections; running and later calls fail."""
        self._closed = True
        if self._session is not None:
            await self._session.close()


class HookClient:
    """A client of one webhook."""

    def __init__(self, clients: HookClients, config: ClientConfig, max_redirects: int) -> None:
        self._clients = clients
        self._config = config
        self._max_redirects = max_redirects
        self._context: ssl.SSLContext | None = None
        self._user: Endpoint | None = None
        host = config.url.host or ""
        self._name = config.service or (host if clients.addresses.overrides(host) else "")
        """The name in the certificate of a server whose addresses this client finds."""

    async def post(self, body: bytes, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 -- a part of the request
        """POST JSON and return the body of a successful answer. The timeout, in seconds, is that of the call with its retries.

        Raises:
            HookError: the call failed.
            ValueError: the credentials for the webhook cannot be used.
        """
        timeout = TIMEOUT if timeout is None else timeout
        if timeout <= 0:
            raise HookError("context deadline exceeded")
        if self._context is None:
            await self._prepare()
        url = self._config.url.update_query(timeout=f"{math.ceil(timeout)}s")
        loop = asyncio.get_running_loop()
        deadline, retries = loop.time() + timeout, _MAX_RETRIES
        response, data = await self._attempt(url, body, deadline)
        while retries and (pause := retry_after(response)) is not None:
            await asyncio.sleep(min(pause, max(deadline - loop.time(), 0)))
            response, data = await self._attempt(url, body, deadline)
            retries -= 1
        check_answer(response, data)
        return data

    async def _prepare(self) -> None:
        """Find the context and the credentials of the connections. Raises ValueError."""
        users, url = self._clients.users, self._config.url
        user = None if users is None else users.user(url.host or "", url.port or 0)
        if user is None:
            self._context = await self._clients.context(self._config.authorities)
        else:
            # not shared: it gets the user's certificate
            context = await asyncio.to_thread(tls_context.__wrapped__, self._config.authorities)
            self._user, self._context = user.endpoint(str(url), context), context

    async def _attempt(self, url: URL, body: bytes, deadline: float) -> tuple[aiohttp.ClientResponse, bytes]:
        """Return an answer and its body. Raises HookError if there is none."""
        response = await self._redirected(url, body, deadline)
        try:
            async with asyncio.timeout_at(deadline), response:
                return response, await _read(response)
        except _ERRORS as error:
            cause = await self._describe(error)
            raise HookError(f"unexpected error when reading response body. Please retry. Original error: {cause}") from None

    async def _redirected(self, url: URL, body: bytes, deadline: float) -> aiohttp.ClientResponse:
        """Return an answer after following redirects. Raises HookError if there is none."""
        method, data, location, shown = "POST", body, "", f"{self._config.shown}?{url.raw_query_string}"
        for _ in range(self._max_redirects or 1):
            try:
                async with asyncio.timeout_at(deadline):
                    response = await self._authorized(method, url, data)
                location = response.headers.get("Location", "")
                if response.status not in _REDIRECTS or not location:
                    return response
                response.release()
                url = url.join(URL(location))
                shown = str(url)
                if not self._max_redirects:
                    raise HookError(_failed(shown, "redirects are not followed"), answered=True)
            except _ERRORS as error:
                raise HookError(_failed(shown, await self._describe(error))) from None
            if response.status not in _SAME_METHOD:
                method, data = "GET", b""
        raise HookError(_failed(location, f"stopped after {self._max_redirects} redirects"), answered=True)

    async def _describe(self, error: Exception) -> str:
        cause = await self._clients.errors.describe(error, self._name)
        # the connection keeps its error
        without_frames(error)
        return cause

    async def _authorized(self, method: str, url: URL, body: bytes) -> aiohttp.ClientResponse:
        """Return the answer to a request with credentials, which another server does not get."""
        user = self._user
        if user is None or url.origin() != self._config.url.origin():
            return await self._balanced(method, url, body, {})
        credential = await _credential(user)
        response = await self._balanced(method, url, body, _authorization(credential))
        if response.status == _UNAUTHORIZED and user.reject(credential):
            response.close()
            response = await self._balanced(method, url, body, _authorization(await _credential(user)))
        return response

    async def _balanced(self, method: str, url: URL, body: bytes, headers: dict[str, str]) -> aiohttp.ClientResponse:
        """Return the answer of a server of a Service, or of the server of any other URL. Raises the latter's errors."""
        host, port = url.host or "", url.port or 0
        if host != self._name:
            return await self._request(method, url, body, headers, proxy_of(url))
        try:
            *others, last = await self._clients.addresses.find(host, port)
        except OSError as error:
            # the DNS of a cluster knows all Services, which the reference reads itself
            problem = f'service "{host.partition(".")[0]}" not found' if self._config.service else unknown_host(host)
            raise ValueError(problem) from error
        headers = headers | {"Host": f"{host}:{port}"}
        for address in others:
            try:
                return await self._request(method, _at(url, address), body, headers, None, host)
            except aiohttp.ClientConnectorError as error:
                if isinstance(error, aiohttp.ClientSSLError):
                    raise
        return await self._request(method, _at(url, last), body, headers, None, host)

    async def _request(
        self, method: str, url: URL, body: bytes, headers: dict[str, str], proxy: URL | None, name: str = ""
    ) -> aiohttp.ClientResponse:
        return await self._clients.session().request(
            method,
            url,
            data=body or None,
            headers=headers,
            ssl=self._context or True,
            proxy=proxy,
            # as in the reference, a Service's name is that of all servers to which it redirects
            server_hostname=self._config.service or name or None,
            timeout=aiohttp.ClientTimeout(total=None),
            allow_redirects=False,
        )


def _at(url: URL, address: Address) -> URL:
    return url.with_host(address[0]).with_port(address[1])


async def _credential(user: Endpoint) -> Credential:
    """Return the current credential of a user. Raises HookError."""
    from apiext.webhook.clientcmd.credentials import CredentialError

    try:
        credential = await user.credential()
    except (CredentialError, OSError) as error:
        raise HookError(f"getting credentials: {error}") from error
    user.use_certificate(credential)
    return credential


def _authorization(credential: Credential) -> dict[str, str]:
    return {"Authorization": credential.authorization} if credential.authorization else {}


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
