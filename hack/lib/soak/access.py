"""How a client reaches a server."""

import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hack.lib.servers.certificates import KeyPair


@dataclass(frozen=True)
class Access:
    """A port of the loopback address with the authority of its certificate, and a client certificate."""

    port: int
    ca: Path
    pair: KeyPair

    @cached_property
    def authenticated(self) -> ssl.SSLContext:
        """Return a context with the client certificate."""
        context = ssl.create_default_context(cafile=self.ca)
        context.load_cert_chain(self.pair.cert, self.pair.key)
        return context

    @cached_property
    def anonymous(self) -> ssl.SSLContext:
        """Return a context without credentials."""
        return ssl.create_default_context(cafile=self.ca)
