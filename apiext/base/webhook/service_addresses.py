"""Addresses of Services outside of a cluster's DNS: NAMESPACE/NAME=HOST:PORT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

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
