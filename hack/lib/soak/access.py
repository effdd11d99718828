"""Addresses and certificates of clients, for one server or several."""

import http
import http.client
import random
import ssl
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.tls_connection import client_context

_PATIENCE: Final = 60.0
"""Seconds that a caller waits for an answer."""


@dataclass(frozen=True)
class Access:
    """A port of the loopback address with the authority of its certificate, and a client certificate."""

    port: int
    ca: Path
    pair: KeyPair

    @classmethod
    def of(cls, server: ApiextServer) -> Self:
        """Return the access of the administrator of a server."""
        return cls(server.port, server.ca, KeyPair(server.client_cert, server.client_key))

    @cached_property
    def caller(self) -> Caller:
        """Return a client of the server with the client certificate."""
        return Caller(f"https://127.0.0.1:{self.port}", self.ca, self.pair, patience=_PATIENCE)

    @cached_property
    def authenticated(self) -> ssl.SSLContext:
        """Return a context with the client certificate."""
        return client_context(self.ca, self.pair.cert, self.pair.key)

    @cached_property
    def anonymous(self) -> ssl.SSLContext:
        """Return a context without credentials."""
        return client_context(self.ca)

    @contextmanager
    def connection(self, patience: float | None = None) -> Iterator[http.client.HTTPSConnection]:
        """Provide a connection with the client certificate for the block; `patience` is the timeout of an answer in seconds."""
        with closing(http.client.HTTPSConnection("127.0.0.1", self.port, timeout=patience, context=self.authenticated)) as connection:
            yield connection

    def metrics(self, patience: float) -> bytes:
        """Return the server's metrics; `patience` is the timeout in seconds.

        Raises:
            OSError: there is no connection, or no answer in time.
            HTTPException: the answer has no metrics.
        """
        with self.connection(patience) as connection:
            connection.request("GET", "/metrics")
            response = connection.getresponse()
            data = response.read()
        if response.status != http.HTTPStatus.OK:
            raise http.client.HTTPException(f"/metrics: {response.status}")
        return data


@dataclass(frozen=True)
class Replicas:
    """The servers behind one name; each connection goes to any of them."""

    servers: Sequence[Access]

    @property
    def caller(self) -> Caller:
        """Return a client of any of the servers."""
        return random.choice(self.servers).caller  # noqa: S311 -- no secret

    def connection(self, patience: float | None = None) -> AbstractContextManager[http.client.HTTPSConnection]:
        """Provide a connection for the block, as Access."""
        return random.choice(self.servers).connection(patience)  # noqa: S311 -- no secret
