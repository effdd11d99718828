"""Opens sockets (Go's net.Dialer)."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final, TypeVar

import aiohappyeyeballs

from apiext.base.webhook.http1.failures import DialError

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.webhook.http1.destination import Destination

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
