"""Clients of the host and of apiext for the checks, with the credentials for the host on both."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint, KubeconfigError
from apiext.operator.api_clients import Json, json_object, trusting

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
    def object(self) -> Json:
        """The JSON object of the body, empty if it has none."""
        return json_object(self.content)

    @property
    def text(self) -> str:
        """The message of a Status, or else the whole body."""
        message = self.object.get("message")
        return str(message) if message else self.content.decode(errors="replace").strip()

    def __str__(self) -> str:
        return f"{self.code} ({self.text})" if self.text else str(self.code)


Asks = Callable[[str, Mapping[str, str]], Awaitable[Answer]]
"""Sends one GET of a path with headers and returns the response, success or not. Raises NoAnswerError if the server did not respond."""


class Connections:
    """A cache of clients, closed together. `load` returns the credentials for the host or raises KubeconfigError."""

    def __init__(self, load: Callable[[], Endpoint]) -> None:
        self._load = load
        self._open: dict[tuple[str, ...], WebhookClient] = {}

    def host(self) -> Asks:
        """Return a client of the host. Raises NoAnswerError if the credentials cannot be read."""
        return self._client(("host",), self._load)

    def apiext(self, url: str, *, name: str, authority: str, known: bool) -> Asks:
        """Return a client of apiext. The server's certificate must have the name, and an authority of the PEM text.

        With `known`, it sends the credentials for the host, else no credentials.

        Raises:
            NoAnswerError: the credentials or the authorities cannot be read.
        """
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
        return partial(_ask, self._open[key])

    def _endpoint(self, url: str, name: str, authority: str, *, known: bool) -> Endpoint:
        own = self._load() if known else Endpoint(url=url, context=None)
        return replace(own, url=url, context=trusting(authority, own.context), server_name=name, proxy=None)


async def _ask(client: WebhookClient, path: str, headers: Mapping[str, str]) -> Answer:
    try:
        return Answer(*await client.ask(path, headers=headers))
    except WebhookError as error:
        raise NoAnswerError(str(error), remote=_refused(error.__cause__)) from error


def _refused(error: BaseException | None) -> bool:
    """Return whether the server ended the handshake, or the connection right after it, with a TLS alert."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
            return True
        error = error.__cause__ or error.__context__
    return False
