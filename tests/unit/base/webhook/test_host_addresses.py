"""Addresses of Services."""

import asyncio
import socket
from typing import Any

import pytest

from apiext.base.webhook.host_addresses import HostAddresses


@pytest.fixture
async def dns(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the DNS by one that knows two addresses of a host; return the questions."""
    asked: list[Any] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append((host, port))
        if host != "svc.ns.svc":
            raise socket.gaierror
        places = ("10.0.0.1", "10.0.0.2", "10.0.0.1")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port)) for place in places]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return asked


async def test_each_request_takes_the_next_address(dns: list[Any]) -> None:
    """Give all addresses, each time beginning with the next one. The answer of the DNS is kept."""
    addresses = HostAddresses({})

    found = [await addresses.find("svc.ns.svc", 443) for _ in range(3)]

    assert [places[0][0] for places in found] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert {len(places) for places in found} == {2}
    assert dns == [("svc.ns.svc", 443)]


async def test_overrides(dns: list[Any]) -> None:
    """Another address of a host holds for all ports; an IP address needs no DNS."""
    addresses = HostAddresses({"a.b.svc": ("127.0.0.1", 8443), "c.d.svc": ("svc.ns.svc", 9443)})

    assert await addresses.find("a.b.svc", 443) == [("127.0.0.1", 8443)]
    assert (await addresses.find("c.d.svc", 443))[0] == ("10.0.0.1", 9443)
    assert dns == [("svc.ns.svc", 9443)]
    assert addresses.overrides("a.b.svc")


@pytest.mark.usefixtures("dns")
async def test_unknown_hosts() -> None:
    """Say that a host is unknown."""
    with pytest.raises(OSError, match=r"^$"):
        await HostAddresses({}).find("missing.ns.svc", 443)
