"""The addresses of Services: those of flags, else those of the cluster's DNS (apiserver pkg/util/webhook/serviceresolver.go).

Each request takes the next address of its host, so that kept connections do not bind all requests to one server
(WebhookRoundTripLoadBalancing).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable, Mapping
from typing import Final

_KEPT_SECONDS: Final = 10.0
"""Seconds for which the answer of the DNS is kept."""
_MAX_HOSTS: Final = 1024
"""Hosts whose addresses are kept; all are forgotten when there are more."""


Service = tuple[str, str]
"""Namespace and name."""
Address = tuple[str, int]
"""Host and port."""
ServiceAddresses = Mapping[Service, Address]

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_ADDRESS: Final = re.compile(rf"({_LABEL})/({_LABEL})=(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{{1,5}})")
_MAX_PORT: Final = 65535


def parse_service_addresses(texts: Iterable[str]) -> dict[Service, Address]:
    """Return the addresses by Service. Ignore empty texts, and texts that begin with #.

    Raises:
        ValueError: a text is malformed, or names a Service a second time.
    """
    addresses: dict[Service, Address] = {}
    for text in map(str.strip, texts):
        if not text or text.startswith("#"):
            continue
        match = _ADDRESS.fullmatch(text)
        if match is None or not 1 <= int(match[4]) <= _MAX_PORT:
            raise ValueError(f"{text!r} is not NAMESPACE/NAME=HOST:PORT")
        service = match[1], match[2]
        if service in addresses:
            raise ValueError(f"{match[1]}/{match[2]} has two addresses")
        addresses[service] = match[3].strip("[]"), int(match[4])
    return addresses


class _Known:
    __slots__ = ("addresses", "next", "until")

    def __init__(self, addresses: list[Address], until: float) -> None:
        self.addresses = addresses
        self.until = until
        self.next = 0

    def rotated(self) -> list[Address]:
        """Return the addresses, each time beginning with the next one."""
        first = self.next % len(self.addresses)
        self.next = first + 1
        return self.addresses[first:] + self.addresses[:first]


class HostAddresses:
    """Finds the addresses of hosts."""

    def __init__(self, overrides: Mapping[str, Address]) -> None:
        """Create the finder. `overrides` are addresses by host, whatever the port."""
        self._overrides = overrides
        self._known: dict[Address, _Known] = {}

    def overrides(self, host: str | None) -> bool:
        """Return whether a host has another address than that of the DNS."""
        return host in self._overrides

    async def find(self, host: str, port: int, deadline: float | None = None) -> list[Address]:
        """Return the addresses of a host, in the order in which to try them. The deadline is a time of the event loop.

        Raises:
            TimeoutError: the DNS does not answer in time.
            OSError: there are none.
        """
        target = self._overrides.get(host, (host, port))
        if _is_address(target[0]):
            return [target]
        loop = asyncio.get_running_loop()
        known = self._known.get(target)
        if known is None or known.until < loop.time():
            async with asyncio.timeout_at(deadline):
                found = await loop.getaddrinfo(*target, type=socket.SOCK_STREAM)
            addresses: list[Address] = [(str(place[0]), int(place[1])) for *_, place in found]
            if len(self._known) >= _MAX_HOSTS:
                self._known.clear()
            known = self._known[target] = _Known(list(dict.fromkeys(addresses)), loop.time() + _KEPT_SECONDS)
        return known.rotated()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
