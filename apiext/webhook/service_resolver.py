"""Resolves Services: to addresses in flags, else by the DNS of the cluster (apiserver pkg/util/webhook/serviceresolver.go)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.webhook.service_addresses import Address


class ServiceResolver(AbstractResolver):
    """Resolves hosts of Services to their replacement addresses, regardless of the port, and all other hosts by DNS."""

    def __init__(self, addresses: Mapping[str, Address]) -> None:
        """Create the resolver; `addresses` replaces hosts."""
        self._addresses = addresses
        self._dns = ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """Return the addresses of a host. Raises OSError."""
        return await self._dns.resolve(*self._addresses.get(host, (host, port)), family)

    async def close(self) -> None:
        """Release nothing."""
