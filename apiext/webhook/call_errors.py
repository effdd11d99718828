"""The errors of HTTP calls in the words of Go's net/http."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.webhook.http1.failures import BodyError, BrokenConnectionError, DialError, MalformedAnswerError
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
        if isinstance(error, DialError):
            return ("proxyconnect tcp: " if error.is_proxy else "") + await self._refused(error, name or error.host)
        if isinstance(error, MalformedAnswerError):
            return f"net/http: HTTP/1.x transport connection broken: {error}"
        if isinstance(error, BrokenConnectionError):
            return await self._broken(error, "EOF")
        if isinstance(error, BodyError):
            cause = error.cause
            return await self._broken(cause, "unexpected EOF") if isinstance(cause, BrokenConnectionError) else str(cause)
        return str(error)

    async def _refused(self, error: DialError, name: str) -> str:
        cause = error.cause
        if isinstance(cause, socket.gaierror):
            return unknown_host(error.host)
        if isinstance(cause, ssl.SSLError):
            return await tls_error(cause, name, (error.host, error.port), self._read)
        return _dial(error)

    async def _broken(self, error: BrokenConnectionError, end: str) -> str:
        """Describe a connection that ended early; `end` means that the server closed it."""
        cause = error.cause
        if isinstance(cause, ssl.SSLError):
            return await tls_error(cause, "", ("", 0), self._read)
        return f"read tcp: read: {os.strerror(cause.errno).lower()}" if isinstance(cause, OSError) and cause.errno else end


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


def _dial(error: DialError) -> str:
    """Describe a failed connection with the address in the error: the resolved address of the host."""
    if error.cause.errno == errno.ECONNRESET:
        return "read tcp: read: connection reset by peer"
    called = _CALLED.search(str(error.cause))
    host, port = (called[1], called[2]) if called else (error.host, error.port)
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    reason = os.strerror(error.cause.errno).lower() if error.cause.errno else str(error.cause)
    return f"dial tcp {place}: connect: {reason}"
