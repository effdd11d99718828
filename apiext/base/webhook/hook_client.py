"""Calls of the webhooks that API objects configure (apiserver pkg/util/webhook/client.go, client-go rest/request.go).

Errors have the reference's texts. Unlike WebhookClient, which calls servers that flags name, a HookClient has credentials only if a
kubeconfig has a user for its server.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from yarl import URL

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_HOOK_RESPONSE_BYTES
from apiext.base.scheduling.tracebacks import without_frames
from apiext.base.webhook.client_config import ClientConfig, service_host, tls_context
from apiext.base.webhook.hook_answers import HookError, check_answer, retry_after
from apiext.base.webhook.host_addresses import HostAddresses
from apiext.base.webhook.http1.destination import Destination, proxy_authorization
from apiext.base.webhook.http1.failures import (
    BodyError,
    BrokenConnectionError,
    CallFailedError,
    DialError,
    MalformedAnswerError,
    TooLargeAnswerError,
)
from apiext.base.webhook.http1.pool import ConnectionPool, PoolClosedError
from apiext.base.webhook.proxy_environment import proxy_of
from apiext.base.webhook.tls_errors import tls_error

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from apiext.base.webhook.clientcmd.credentials import Credential
    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.base.webhook.hook_users import HookUsers
    from apiext.base.webhook.host_addresses import ServiceAddresses
    from apiext.base.webhook.http1.answer import HttpAnswer
    from apiext.base.webhook.tls_errors import ReadCertificate

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

RESOLV_CONF: Final = Path("/etc/resolv.conf")
"""The file with the name servers of the process."""
_NAME_SERVER: Final = re.compile(r"^nameserver\s+(\S+)", re.MULTILINE)
_CALLED: Final = re.compile(r"\('([^']+)', (\d+)")


class CallErrors:
    """Describes the failures of calls."""

    def __init__(self, read: ReadCertificate) -> None:
        self._read = read

    async def describe(self, error: Exception, name: str = "") -> str:
        """Describe the failure of a call. `name` is the one that the server's certificate must have, if it is not that of its address."""
        if isinstance(error, TimeoutError):
            return "context deadline exceeded"
        if isinstance(error, DialError):
            return ("proxyconnect tcp: " if error.is_proxy else "") + await self._refused(error, name or error.host)
        if isinstance(error, MalformedAnswerError):
            return f"net/http: HTTP/1.x transport connection broken: {error}"
        if isinstance(error, BrokenConnectionError):
            return await self._broken(error, "EOF")
        if isinstance(error, BodyError):
            cause = error.cause
            return await self._broken(cause, "unexpected EOF") if isinstance(cause, BrokenConnectionError) else str(cause)
        return str(error)

    async def _refused(self, error: DialError, name: str) -> str:
        cause = error.cause
        if isinstance(cause, socket.gaierror):
            return unknown_host(error.host)
        if isinstance(cause, ssl.SSLError):
            return await tls_error(cause, name, (error.host, error.port), self._read)
        return _dial(error)

    async def _broken(self, error: BrokenConnectionError, end: str) -> str:
        """Describe a connection that ended early; `end` means that the server closed it."""
        cause = error.cause
        if isinstance(cause, ssl.SSLError):
            return await tls_error(cause, "", ("", 0), self._read)
        return f"read tcp: read: {os.strerror(cause.errno).lower()}" if isinstance(cause, OSError) and cause.errno else end


def unknown_host(host: str) -> str:
    """Describe a host that the DNS does not know, with the address of the first name server as Go's resolver does."""
    try:
        found = _NAME_SERVER.search(RESOLV_CONF.read_text())
    except (OSError, ValueError):
        found = None
    if found is None:
        return f"dial tcp: lookup {host}: no such host"
    server = f"[{found[1]}]" if ":" in found[1] else found[1]
    return f"dial tcp: lookup {host} on {server}:53: no such host"


def _dial(error: DialError) -> str:
    """Describe a failed connection with the address in the error: the resolved address of the host."""
    if error.cause.errno == errno.ECONNRESET:
        return "read tcp: read: connection reset by peer"
    called = _CALLED.search(str(error.cause))
    host, port = (called[1], called[2]) if called else (error.host, error.port)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    reason = os.strerror(error.cause.errno).lower() if error.cause.errno else str(error.cause)
    return f"dial tcp {place}: connect: {reason}"


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
    from apiext.base.webhook.clientcmd.credentials import CredentialError

    try:
        return await user.credential()
    except (CredentialError, OSError) as error:
        raise HookError(f"getting credentials: {error}") from error


def _failed(url: str, cause: str) -> str:
    return f"Post {formatting.quote(url)}: {cause}"
