"""Addresses and certificates of clients, for one server or several."""

import http.client
import random
import ssl
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.tls_connection import client_context


@dataclass(frozen=True)
class Access:
    """A port of the loopback address with the authority of its certificate, and a client certificate."""

    port: int
    ca: Path
    pair: KeyPair

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


@dataclass(frozen=True)
class Replicas:
    """The servers behind one name; each connection goes to any of them."""

    servers: Sequence[Access]

    def connection(self, patience: float | None = None) -> AbstractContextManager[http.client.HTTPSConnection]:
        """Provide a connection for the block, as Access."""
        return random.choice(self.servers).connection(patience)  # noqa: S311 -- no secret
