"""The listening socket: taken first, so that a port in use ends the start before anything else begins."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from apiext.server.start_error import StartError

_BACKLOG: Final = 1024
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- looked up, not bound


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens; clients wait until it is served.

    Raises:
        StartError: the address or port cannot be used.
    """
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 -- the standard library's signature
    except OSError as error:
        listener.close()
        place = f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
        raise StartError(f"cannot listen on {place}: {error.strerror}") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL under which clients on this machine reach a listener."""
    address, port = listener.getsockname()[:2]
    host = _ANY_ADDRESS.get(address, address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
