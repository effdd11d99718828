"""The errors of HTTP calls in the words of Go's net/http."""

from __future__ import annotations

import errno
import os
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp

from apiext.webhook.tls_errors import tls_error

if TYPE_CHECKING:
    from apiext.webhook.tls_errors import ReadCertificate

_RESOLV_CONF: Final = Path("/etc/resolv.conf")
_NAME_SERVER: Final = re.compile(r"^nameserver\s+(\S+)", re.MULTILINE)
_CALLED: Final = re.compile(r"\('([^']+)', (\d+)")


class CallErrors:
    """Describes the failures of calls."""

    def __init__(self, read: ReadCertificate) -> None:
        self._read = read

    async def describe(self, error: Exception, name: str = "") -> str:
        """Describe the failure of a call. `name` is the one that the server's certificate must have, if it is not that of its address."""
        if isinstance(error, TimeoutError):
            return "context deadline exceeded"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return unknown_host(error.host)
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return await tls_error(error.certificate_error, name or error.host, (error.host, error.port or 0), self._read)
        if isinstance(error, aiohttp.ClientConnectorError):
            if isinstance(error.os_error, ssl.SSLError):
                return await tls_error(error.os_error, name or error.host, (error.host, error.port or 0), self._read)
            return _dial(error)
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return "EOF"
        if isinstance(error, aiohttp.ClientPayloadError):
            return "unexpected EOF"
        if isinstance(error, aiohttp.ClientOSError) and error.errno:
            return f"read tcp: read: {os.strerror(error.errno).lower()}"
        return str(error)


def unknown_host(host: str) -> str:
    """Describe a host that the DNS does not know, with the address of the first name server as Go's resolver does."""
    try:
        found = _NAME_SERVER.search(_RESOLV_CONF.read_text())
    except (OSError, ValueError):
        found = None
    if found is None:
        return f"dial tcp: lookup {host}: no such host"
    server = f"[{found[1]}]" if ":" in found[1] else found[1]
    return f"dial tcp: lookup {host} on {server}:53: no such host"


def _dial(error: aiohttp.ClientConnectorError) -> str:
    """Describe a failed connection with the address in the error: the resolved address of the host."""
    if error.os_error.errno == errno.ECONNRESET:
        return "read tcp: read: connection reset by peer"
    called = _CALLED.search(str(error.os_error))
    host, port = (called[1], called[2]) if called else (error.host, error.port)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    reason = os.strerror(error.os_error.errno).lower() if error.os_error.errno else str(error.os_error)
    return f"dial tcp {place}: connect: {reason}"
