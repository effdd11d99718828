"""Where requests go: addresses, sockets (Go's net.Dialer), and credentials for proxies."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import aiohappyeyeballs
from yarl import URL

from apiext.base.webhook.http1.failures import DialError

if TYPE_CHECKING:
    from collections.abc import Callable


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


def proxy_authorization(proxy: URL) -> str:
    """Return the header lines with the credentials in the URL of a proxy, "" without any."""
    if proxy.user is None:
        return ""
    credentials = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
    return f"Proxy-Authorization: Basic {credentials}\r\n"


_NEXT_ADDRESS_SECONDS: Final = 0.3
"""Seconds for an address of a host before the next one is tried beside it, as in Go."""

P = TypeVar("P", bound=asyncio.Protocol)


async def connect(destination: Destination, protocol: Callable[[], P]) -> P:
    """Return the protocol of a new connection to the host of a destination.

    Raises:
        DialError: there is none.
    """
    host, port, context = destination[:3]
    loop = asyncio.get_running_loop()
    opened: socket.socket | None = None
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        opened = await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS, loop=loop)
        name = None if context is None else destination.name or host.rstrip(".")
        _, made = await loop.create_connection(protocol, sock=opened, ssl=context, server_hostname=name)
        opened = None
    except (OSError, RuntimeError) as error:
        # uvloop raises RuntimeError for an address that it cannot parse
        raise DialError(host, port, error if isinstance(error, OSError) else OSError(str(error))) from None
    finally:
        if opened is not None:
            opened.close()
    return made
