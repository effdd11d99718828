"""The client of a request: the addresses from which it came (apimachinery pkg/util/net, SourceIPs)."""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple

_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")


class Client(NamedTuple):
    """From where a request came. Requests share it."""

    source_ips: tuple[str, ...] = ()
    user_agent: str = ""
    members: str = ""
    """Their JSON."""


UNKNOWN_CLIENT: Final = Client()


def source_ips(forwarded_for: str, real_ip: str, remote: str) -> tuple[str, ...]:
    """Return the addresses of X-Forwarded-For, that of X-Real-Ip unless it is among them, and the connection's unless it is the last one.

    Clients choose all of them but the last.
    """
    found = [ip for part in forwarded_for.split(",") if (ip := _parsed(part.strip()))] if forwarded_for else []
    if real_ip and (ip := _parsed(real_ip)) and ip not in found:
        found.append(ip)
    if (ip := _parsed(remote)) and found[-1:] != [ip]:
        found.append(ip)
    return tuple(found)


def _parsed(text: str) -> str:
    """Return an address in Go's form, empty for an invalid one. As in Go's older versions, decimals may begin with zeros."""
    try:
        address = ipaddress.ip_address(text if ":" in text else _LEADING_ZEROS.sub("", text))
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return ""
        return str(address.ipv4_mapped or address)
    return str(address)
