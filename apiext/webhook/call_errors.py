"""The errors of HTTP calls in the words of Go's net/http."""

from __future__ import annotations

import errno
import os
import re
import ssl
from typing import TYPE_CHECKING, Final

import aiohttp

from apiext.webhook.tls_errors import tls_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.webhook.service_addresses import Address
    from apiext.webhook.tls_errors import ReadCertificate

_CALLED: Final = re.compile(r"\('([^']+)', (\d+)")


class CallErrors:
    """Describes the failures of calls."""

    def __init__(self, addresses: Mapping[str, Address], read: ReadCertificate) -> None:
        """Create the descriptions. `addresses` are the overridden addresses of hosts."""
        self._addresses = addresses
        self._read = read

    async def describe(self, error: Exception) -> str:
        """Describe the failure of a call."""
        if isinstance(error, TimeoutError):
            return "context deadline exceeded"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return f"dial tcp: lookup {error.host}: no such host"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return await self._tls(error.certificate_error, error.host, error.port or 0)
        if isinstance(error, aiohttp.ClientConnectorError):
            if isinstance(error.os_error, ssl.SSLError):
                return await self._tls(error.os_error, error.host, error.port or 0)
            return _dial(error)
        if isinstance(error, aiohttp.ServerDisconnectedError):
            return "EOF"
        if isinstance(error, aiohttp.ClientPayloadError):
            return "unexpected EOF"
        if isinstance(error, aiohttp.ClientOSError) and error.errno:
            return f"read tcp: read: {os.strerror(error.errno).lower()}"
        return str(error)

    async def _tls(self, error: Exception, host: str, port: int) -> str:
        return await tls_error(error, host, self._addresses.get(host, (host, port)), self._read)


def _dial(error: aiohttp.ClientConnectorError) -> str:
    """Describe a failed connection with the address in the error: the resolved address of the host."""
    if error.os_error.errno == errno.ECONNRESET:
        return "read tcp: read: connection reset by peer"
    called = _CALLED.search(str(error.os_error))
    host, port = (called[1], called[2]) if called else (error.host, error.port)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    reason = os.strerror(error.os_error.errno).lower() if error.os_error.errno else str(error.os_error)
    return f"dial tcp {place}: connect: {reason}"
