"""Clients of the host and of apiext for the checks, with the credentials for the host on both."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import orjson

from apiext.webhook.client import WebhookClient, WebhookError
from apiext.webhook.kubeconfig import Endpoint, KubeconfigError

_TIMEOUT_SECONDS: Final = 10.0


class NoAnswerError(Exception):
    """A server did not respond; the message gives the reason. With `remote`, the server rejected the client's certificate."""

    def __init__(self, message: str, *, remote: bool = False) -> None:
        super().__init__(message)
        self.remote = remote


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of a server."""

    code: int
    content: bytes = b""

    @property
    def object(self) -> dict[str, Any]:
        """The JSON object of the body, empty if it has none."""
        try:
            found = orjson.loads(self.content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def text(self) -> str:
        """The message of a Status, or else the whole body."""
        message = self.object.get("message")
        return str(message) if message else self.content.decode(errors="replace").strip()

    def __str__(self) -> str:
        return f"{self.code} ({self.text})" if self.text else str(self.code)


class Asks(Protocol):
    """A client of one server."""

    async def __call__(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one GET and return the response, success or not.

        Raises:
            NoAnswerError: the server did not respond.
        """
        ...


class Connects(Protocol):
    """Creates clients."""

    def host(self) -> Asks:
        """Return a client of the host. Raises NoAnswerError if the credentials cannot be read."""
        ...

    def apiext(self, url: str, *, name: str, authority: str, known: bool) -> Asks:
        """Return a client of apiext, whose certificate has to have that name and an authority of the PEM text.

        With `known` it sends the credentials for the host, else none.

        Raises:
            NoAnswerError: the credentials or the authorities cannot be read.
        """
        ...


class Connections:
    """Clients that are kept and closed together; `load` returns the credentials for the host or raises KubeconfigError."""

    def __init__(self, load: Callable[[], Endpoint]) -> None:
        self._load = load
        self._open: dict[tuple[str, ...], WebhookClient] = {}

    def host(self) -> Asks:
        """See Connects."""
        return self._client(("host",), self._load)

    def apiext(self, url: str, *, name: str, authority: str, known: bool) -> Asks:
        """See Connects."""
        return self._client((url, name, authority, str(known)), lambda: self._endpoint(url, name, authority, known=known))

    async def close(self) -> None:
        """Close all connections."""
        while self._open:
            await self._open.popitem()[1].close()

    def _client(self, key: tuple[str, ...], endpoint: Callable[[], Endpoint]) -> Asks:
        if key not in self._open:
            try:
                self._open[key] = WebhookClient(endpoint(), timeout=_TIMEOUT_SECONDS, backoff=())
            except (KubeconfigError, ssl.SSLError) as error:
                raise NoAnswerError(str(error)) from error
        return _Asking(self._open[key])

    def _endpoint(self, url: str, name: str, authority: str, *, known: bool) -> Endpoint:
        own = self._load() if known else None
        context = trusting(authority, own.context if own else None)
        if own is None:
            return Endpoint(url=url, context=context, server_name=name)
        return replace(own, url=url, context=context, server_name=name)


class _Asking:
    def __init__(self, client: WebhookClient) -> None:
        self._client = client

    async def __call__(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        try:
            return Answer(*await self._client.ask(path, headers=headers))
        except WebhookError as error:
            raise NoAnswerError(str(error), remote=_refused(error.__cause__)) from error


def trusting(authority: str, context: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """Return an SSL context that trusts authorities in PEM, or the system's without any; an existing context is extended.

    It verifies as kube-apiserver does: a trusted certificate need not be self-signed, and the common name is ignored.

    Raises:
        ssl.SSLError: the PEM text has no usable certificate.
    """
    if context is None:
        context = ssl.create_default_context(cadata=authority or None)
    elif authority:
        context.load_verify_locations(cadata=authority)
    else:
        context.load_default_certs()
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.hostname_checks_common_name = False
    return context


def _refused(error: BaseException | None) -> bool:
    """Return whether the server ended the handshake, or the connection right after it, with a TLS alert."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return True
        error = error.__cause__ or error.__context__
    return False
