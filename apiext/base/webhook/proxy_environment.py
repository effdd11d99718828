"""The proxy for a URL from environment variables (golang.org/x/net/http/httpproxy)."""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Mapping

_PORT: Final = re.compile(r"(\[[^\]]*\]|[^:]*):([0-9]*)")

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def proxy_of(url: URL, environ: Mapping[str, str] = os.environ) -> URL | None:
    """Return the proxy for a URL, None without one, from HTTPS_PROXY or HTTP_PROXY, and NO_PROXY, or their lower-case forms."""
    names = "HTTP_PROXY" if url.scheme == "http" else "HTTPS_PROXY", "NO_PROXY"
    proxy, exceptions = (environ.get(name) or environ.get(name.lower()) or "" for name in names)
    host = (url.host or "").lower()
    if not proxy or host == "localhost":
        return None
    address = _address(host)
    if address is not None and address.is_loopback:
        return None
    if any(_matches(entry.strip().lower(), host, address, str(url.port)) for entry in exceptions.split(",")):
        return None
    return URL(proxy if "://" in proxy else f"http://{proxy}")


def _matches(entry: str, host: str, address: IPAddress | None, port: str) -> bool:
    """Report whether an entry of NO_PROXY names a host: *, a network, or an address or domain with or without a port."""
    if entry in {"", "*"}:
        return entry == "*"
    if "/" in entry:
        with suppress(ValueError):
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
    with_port = _PORT.fullmatch(entry)
    name, wanted = (with_port[1].strip("[]"), with_port[2]) if with_port else (entry, "")
    if not name or wanted not in {"", port}:
        return False
    own = _address(name)
    if own is not None or address is not None:
        return own == address
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _address(text: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
