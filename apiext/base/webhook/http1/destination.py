"""Where requests go."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from yarl import URL


class Destination(NamedTuple):
    """A server, and how connections to it are made. Requests to equal destinations share connections."""

    host: str
    """A name or an IP address."""
    port: int
    context: ssl.SSLContext | None
    """None for connections without TLS."""
    name: str = ""
    """The name that the server's certificate must have, "" for `host`."""
    proxy: URL | None = None
