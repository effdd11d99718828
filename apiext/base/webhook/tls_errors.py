"""The errors of TLS handshakes in the words of Go's crypto/tls and crypto/x509."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import re
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

_SECONDS: Final = 5.0
"""Seconds to fetch the certificate for an error text."""
_MAX_NAMES: Final = 100
"""Number of names; from this number on, errors show only the number."""
_UNKNOWN_AUTHORITY: Final = "x509: certificate signed by unknown authority"
_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
_ALERT: Final = re.compile("(?:SSL|TLS)V[0-9]+_ALERT_(.+)")


class PeerCertificate(NamedTuple):
    """The parts of a certificate for error texts."""

    hosts: Sequence[str]
    """DNS names and IP addresses."""
    validity: tuple[datetime.datetime, datetime.datetime] | None


ReadCertificate = Callable[[str], PeerCertificate]
"""Reads a certificate in PEM."""


async def tls_error(error: Exception, host: str, address: tuple[str, int], read: ReadCertificate) -> str:
    """Describe a failed handshake with an address that must present a certificate of `host`.

    OpenSSL does not expose a rejected certificate, so this function fetches it again.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {await _rejected(host, address, read)}"
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else ""
    if reason in _NOT_TLS:
        return "http: server gave HTTP response to HTTPS client"
    alert = _ALERT.fullmatch(reason)
    if alert is not None:
        return f"remote error: tls: {alert[1].lower().replace('_', ' ')}"
    return "EOF" if isinstance(error, ssl.SSLEOFError) else str(error)


async def _rejected(host: str, address: tuple[str, int], read: ReadCertificate) -> str:
    """Return Go's reason to reject the certificate at an address: its validity, its names, or else its authority."""
    try:
        found = read(await _presented(host, address))
    except (OSError, TimeoutError, ValueError):
        return _UNKNOWN_AUTHORITY
    return (found.validity and _out_of_time(*found.validity)) or _misnamed(host, found.hosts) or _UNKNOWN_AUTHORITY


async def _presented(host: str, address: tuple[str, int]) -> str:
    """Return the certificate of a server in PEM. Raises OSError, TimeoutError or ValueError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with asyncio.timeout(_SECONDS):
        _, writer = await asyncio.open_connection(*address, ssl=context, server_hostname=host)
        certificate: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    if certificate is None:
        raise ValueError("no certificate")
    return ssl.DER_cert_to_PEM_cert(certificate)


def _out_of_time(begin: datetime.datetime, end: datetime.datetime) -> str:
    now = datetime.datetime.now(datetime.UTC)
    if begin <= now <= end:
        return ""
    order, limit = ("before", begin) if now < begin else ("after", end)
    return f"x509: certificate has expired or is not yet valid: current time {now:%Y-%m-%dT%H:%M:%SZ} is {order} {limit:%Y-%m-%dT%H:%M:%SZ}"


def _misnamed(host: str, names: Sequence[str]) -> str:
    """Return the error for a certificate that does not name the host, "" if it does."""
    addresses = {name for name in names if _is_address(name)}
    if _is_address(host):
        if not addresses:
            return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
        own, kind = [name for name in names if name in addresses], "IP SANs"
        matches = any(ipaddress.ip_address(name) == ipaddress.ip_address(host) for name in own)
    else:
        own, kind = [name for name in names if name not in addresses], "names"
        matches = any(_matches(name.lower(), host.lower()) for name in own)
    if matches:
        return ""
    if not own:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    if len(own) >= _MAX_NAMES:
        return f"x509: certificate is valid for {len(own)} {kind}, but none matched {host}"
    return f"x509: certificate is valid for {', '.join(own)}, not {host}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _matches(name: str, host: str) -> bool:
    return name == host or (name.startswith("*.") and host.partition(".")[2] == name[2:])
