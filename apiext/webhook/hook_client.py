"""Calls of the webhooks that API objects configure (apiserver pkg/util/webhook/client.go, client-go rest/request.go).

Errors have the reference's texts. Unlike WebhookClient, which calls servers that flags name, a HookClient has credentials only if a
kubeconfig has a user for its server.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from yarl import URL

from apiext.meta.golang import formatting
from apiext.meta.limits import MAX_HOOK_RESPONSE_BYTES
from apiext.scheduling.tracebacks import without_frames
from apiext.webhook.call_errors import CallErrors, unknown_host
from apiext.webhook.client_config import ClientConfig, service_host, tls_context
from apiext.webhook.hook_answers import HookError, check_answer, retry_after
from apiext.webhook.host_addresses import HostAddresses
from apiext.webhook.http1.destination import Destination
from apiext.webhook.http1.failures import BodyError, CallFailedError, DialError, TooLargeAnswerError
from apiext.webhook.http1.pool import ConnectionPool, PoolClosedError
from apiext.webhook.http1.proxies import proxy_authorization
from apiext.webhook.proxy_environment import proxy_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable

    from apiext.webhook.clientcmd.credentials import Credential
    from apiext.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.webhook.hook_users import HookUsers
    from apiext.webhook.http1.answer import HttpAnswer
    from apiext.webhook.service_addresses import ServiceAddresses
    from apiext.webhook.tls_errors import ReadCertificate

TIMEOUT: Final = 30.0
"""Seconds of a call with its retries, up to the end of the answer."""
_MAX_RETRIES: Final = 10
"""Maximum of retries after answers with Retry-After."""
MAX_REDIRECTS: Final = 10
_HEADERS: Final = (
    "Accept: application/json, */*\r\nAccept-Encoding: gzip\r\nContent-Type: application/json\r\nUser-Agent: kube-apiserver-admission\r\n"
)
_SAME_METHOD: Final = frozenset({307, 308})
_SCHEMES: Final = frozenset({"http", "https"})
_ERRORS: Final = (CallFailedError, OSError, ValueError)
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True, slots=True)
class _Resource:
    """What a request asks for."""

    url: URL
    shown: str
    """The URL for errors."""
    lines: str
    """The end of the first line of requests, and the header lines that are the same for all of them."""
    destination: Destination | None
    """None for a Service, of which each request finds an address."""
    is_own: bool
    """Whether it is on the server of the webhook, and not on one to which that redirects."""


class HookClients:
    """The connections to all webhooks. Webhooks with the same address and authorities share connections."""

    def __init__(self, services: ServiceAddresses, read: ReadCertificate, users: HookUsers | None = None) -> None:
        """Create the clients. `services` overrides addresses of Services; `read` parses certificates for error texts.

        `users` have the credentials for webhooks.
        """
        self.addresses = HostAddresses({service_host(*service): address for service, address in services.items()})
        self.errors = CallErrors(read)
        self.users = users
        self._pool: ConnectionPool | None = None
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

    @property
    def pool(self) -> ConnectionPool:
        """Return the connections."""
        if self._pool is None:
            self._pool = ConnectionPool(MAX_HOOK_RESPONSE_BYTES)
        return self._pool

    async def close(self) -> None:
        """Close the connections; running and later calls fail."""
        await self.pool.close()


class HookClient:
    """A client of one webhook."""

    def __init__(self, clients: HookClients, config: ClientConfig, max_redirects: int) -> None:
        self._clients = clients
        self._config = config
        self._max_redirects = max_redirects
        self._context: ssl.SSLContext | None = None
        self._user: Endpoint | None = None
        self._latest: Credential | None = None
        """The credential of the latest call."""
        host = config.url.host or ""
        self._name = config.service or (host if clients.addresses.overrides(host) else "")
        """The name in the certificate of a server whose addresses this client finds."""
        self._resources: dict[int, _Resource] = {}
        """What requests ask for, by the seconds of their timeout."""

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
        resource, pool = self._resource(math.ceil(timeout)), self._clients.pool
        deadline, retries = pool.deadline(timeout), _MAX_RETRIES
        answer = await self._attempt(resource, body, deadline)
        while retries and (pause := retry_after(answer)) is not None:
            await asyncio.sleep(min(pause, max(deadline - pool.deadline(0), 0)))
            answer = await self._attempt(resource, body, deadline)
            retries -= 1
        check_answer(answer)
        return answer.body

    def _resource(self, seconds: int) -> _Resource:
        """Return what a request with a timeout asks for."""
        known = self._resources.get(seconds)
        if known is None:
            url = self._config.url.update_query(timeout=f"{seconds}s")
            known = self._resources[seconds] = self._at(url, f"{self._config.shown}?{url.raw_query_string}")
        return known

    def _at(self, url: URL, shown: str) -> _Resource:
        host, port, is_own = url.host or "", url.port or 0, url.origin() == self._config.url.origin()
        if host == self._name:
            return _Resource(url, shown, f"{url.raw_path_qs} HTTP/1.1\r\nHost: {host}:{port}\r\n{_HEADERS}", None, is_own)
        proxy, context = proxy_of(url), self._context if url.scheme == "https" else None
        lines = f"{url.raw_path_qs} HTTP/1.1\r\nHost: {url.host_port_subcomponent}\r\n{_HEADERS}"
        if proxy is not None and url.scheme == "http":
            # without a tunnel the proxy needs the whole URL
            lines = f"{url.origin()}{lines}{proxy_authorization(proxy)}"
        # as in the reference, a Service's name is that of all servers to which it redirects
        return _Resource(url, shown, lines, Destination(host, port, context, self._config.service, proxy), is_own)

    async def _prepare(self) -> None:
        """Find the context and the credentials of the connections. Raises ValueError."""
        users, url = self._clients.users, self._config.url
        user = None if users is None else users.user(url.host or "", url.port or 0)
        if user is None:
            self._context = await self._clients.context(self._config.authorities)
        else:
            # not shared: it gets the user's certificate
            context = await asyncio.to_thread(tls_context.__wrapped__, self._config.authorities)
            if self._context is None:
                # another call may have been faster, and its connections get the certificates of its user
                self._user, self._context = user.endpoint(str(url), context), context

    async def _attempt(self, resource: _Resource, body: bytes, deadline: float) -> HttpAnswer:
        """Return an answer. Raises HookError if there is none."""
        try:
            return await self._redirected(resource, body, deadline)
        except BodyError as error:
            if isinstance(error.cause, TooLargeAnswerError):
                # its frames refer to the answer
                without_frames(error)
                raise HookError(f"the response of the webhook is larger than {MAX_HOOK_RESPONSE_BYTES} bytes", answered=True) from None
            cause = await self._describe(error)
            raise HookError(f"unexpected error when reading response body. Please retry. Original error: {cause}") from None

    async def _redirected(self, resource: _Resource, body: bytes, deadline: float) -> HttpAnswer:
        """Return an answer after following redirects. Raises HookError if there is none, BodyError if it has no end."""
        user, method, data, location = self._user, "POST", body, ""
        for _ in range(self._max_redirects or 1):
            try:
                if user is not None and resource.is_own:
                    answer = await self._authorized(user, method, resource, data, deadline)
                else:
                    # another server does not get the credentials
                    answer = await self._sent(resource, _request(method, resource, data), deadline)
                location = answer.location
                if not location:
                    return answer
                resource = self._at(following := resource.url.join(URL(location)), str(following))
                if not self._max_redirects:
                    raise HookError(_failed(resource.shown, "redirects are not followed"), answered=True)
                if following.scheme not in _SCHEMES:
                    raise ValueError(f"unsupported protocol scheme {formatting.quote(following.scheme)}")
            except PoolClosedError:
                raise HookError("the server is shutting down") from None
            except _ERRORS as error:
                raise HookError(_failed(resource.shown, await self._describe(error))) from None
            if answer.status not in _SAME_METHOD:
                method, data = "GET", b""
        raise HookError(_failed(location, f"stopped after {self._max_redirects} redirects"), answered=True)

    async def _describe(self, error: Exception) -> str:
        cause = await self._clients.errors.describe(error, self._name)
        # the error may refer to its frames, and they to it
        without_frames(error)
        return cause

    def _sent(self, resource: _Resource, request: bytes, deadline: float) -> Awaitable[HttpAnswer]:
        """Return the answer of a server of a Service, or of the server of any other URL. Raises the latter's errors."""
        if resource.destination is None:
            return self._balanced(resource.url, request, deadline)
        return self._clients.pool.exchange(resource.destination, request, deadline)

    async def _authorized(self, user: Endpoint, method: str, resource: _Resource, body: bytes, deadline: float) -> HttpAnswer:
        """Return the answer to a request with credentials."""
        async with asyncio.timeout_at(deadline):
            credential = await self._credential(user)
        answer = await self._sent(resource, _request(method, resource, body, credential), deadline)
        if answer.status == _UNAUTHORIZED and user.reject(credential):
            async with asyncio.timeout_at(deadline):
                credential = await self._credential(user)
            answer = await self._sent(resource, _request(method, resource, body, credential), deadline)
        return answer

    async def _credential(self, user: Endpoint) -> Credential:
        """Return the current credential. A new one gets new connections: it may have another certificate. Raises HookError."""
        credential = await _credential(user)
        if credential != self._latest:
            user.use_certificate(credential)
            self._clients.pool.forget(self._context)
            self._latest = credential
        return credential

    async def _balanced(self, url: URL, request: bytes, deadline: float) -> HttpAnswer:
        """Return the answer of a server of a Service, which all have its name."""
        host, context = url.host or "", self._context if url.scheme == "https" else None
        try:
            *others, last = await self._clients.addresses.find(host, url.port or 0, deadline)
        except TimeoutError:
            raise
        except OSError as error:
            # the DNS of a cluster knows all Services, which the reference reads itself
            problem = f'service "{host.partition(".")[0]}" not found' if self._config.service else unknown_host(host)
            raise ValueError(problem) from error
        pool, name = self._clients.pool, self._config.service or host
        for address in others:
            try:
                return await pool.exchange(Destination(*address, context, name), request, deadline)
            except DialError as error:
                if error.is_tls:
                    raise
        return await pool.exchange(Destination(*last, context, name), request, deadline)


def _request(method: str, resource: _Resource, body: bytes, credential: Credential | None = None) -> bytes:
    """Return a request. Raises ValueError if a credential is no header."""
    head = f"{method} {resource.lines}"
    if credential is not None and credential.authorization:
        if not credential.authorization.isprintable():
            raise ValueError('net/http: invalid header field value for "Authorization"')
        head += f"Authorization: {credential.authorization}\r\n"
    if body:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def _credential(user: Endpoint) -> Credential:
    """Return the current credential. Raises HookError."""
    from apiext.webhook.clientcmd.credentials import CredentialError

    try:
        return await user.credential()
    except (CredentialError, OSError) as error:
        raise HookError(f"getting credentials: {error}") from error


def _failed(url: str, cause: str) -> str:
    return f"Post {formatting.quote(url)}: {cause}"
