"""Connections to the host and to apiext, with the credentials for the host on both."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import orjson

from apiext.webhook.client import WebhookClient, WebhookError
from apiext.webhook.kubeconfig import Endpoint, KubeconfigError

_PATIENCE: Final = 10.0


class NoAnswerError(Exception):
    """A server does not answer; the message says how it fails. `remote` tells whether the other side refused the client's certificate."""

    def __init__(self, message: str, *, remote: bool = False) -> None:
        super().__init__(message)
        self.remote = remote


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers."""

    code: int
    content: bytes = b""

    @property
    def object(self) -> dict[str, Any]:
        """The JSON object in it, empty where there is none."""
        try:
            found = orjson.loads(self.content)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def text(self) -> str:
        """The message of a Status, else all of it."""
        message = self.object.get("message")
        return str(message) if message else self.content.decode(errors="replace").strip()

    def __str__(self) -> str:
        return f"{self.code} ({self.text})" if self.text else str(self.code)


class Asks(Protocol):
    """A client of one server."""

    async def __call__(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to one GET, whatever it is.

        Raises:
            NoAnswerError: there is none.
        """
        ...


class Connects(Protocol):
    """Makes clients."""

    def host(self) -> Asks:
        """A client of the host. Raises NoAnswerError where there are no credentials."""
        ...

    def apiext(self, url: str, *, name: str, authority: str, known: bool) -> Asks:
        """A client of apiext, whose certificate has a name and is of an authority in PEM.

        It shows the credentials for the host where it is `known`, else none. Raises NoAnswerError.
        """
        ...


class Connections:
    """Clients that are closed together; `load` reads the credentials, and may raise KubeconfigError."""

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
                self._open[key] = WebhookClient(endpoint(), timeout=_PATIENCE, backoff=())
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
    """A context, or that one, that trusts authorities in PEM too; without any the system's.

    It judges as kube-apiserver does: what is trusted need not be self-signed, and a common name is no name. Raises ssl.SSLError.
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
    """Whether the other side ended the handshake, or the connection right behind it."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return True
        error = error.__cause__ or error.__context__
    return False
