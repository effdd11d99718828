"""IP addresses (apiserver pkg/cel/library/ip.go)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import ClassVar, Final

from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.golang.netip import address_fault
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.libraries.costs import read_once, read_twice
from apiext.schema.cel.libraries.library import Cost, Library, Overload
from apiext.schema.cel.types import BOOL, INT, STRING, CelType
from apiext.schema.cel.values.run_time_values import OpaqueValue

Address = IPv4Address | IPv6Address

_IP: Final = CelType("net.IP")
_HIGHEST: Final = IPv4Address("255.255.255.255")
_LOCAL_GROUPS: Final = IPv4Address("224.0.0.0")
"""First address of the block of multicast addresses that stay in the link; the last octet varies."""


@dataclass(frozen=True, slots=True)
class IpValue(OpaqueValue):
    """An address."""

    cel_type: ClassVar[CelType] = _IP
    address: Address

    def size(self) -> int:
        """Return the bytes of the address."""
        return len(self.address.packed)

    def __str__(self) -> str:
        """Return the canonical text."""
        return str(self.address)


def parse_ip(text: str) -> IpValue:
    """Parse an address without zone.

    Raises:
        CelError: the text is no such address, or an IPv4 address mapped to IPv6.
    """
    try:
        address = ip_address(text)
    except ValueError as error:
        fault = address_fault(text) or error
        raise CelError(f"IP Address {quote(text)} parse error during conversion from string: {fault}") from None
    if "%" in text:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if is_mapped(address):
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IpValue(address)


def is_mapped(address: Address) -> bool:
    """Return whether an address is an IPv4 address mapped to IPv6."""
    return address.version == 6 and address.ipv4_mapped is not None


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except CelError:
        return False
    return True


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return int(address) >> 8 == int(_LOCAL_GROUPS) >> 8
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _is_global_unicast(address: Address) -> bool:
    return address != _HIGHEST and not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _predicate(overload: str, check: Callable[[Address], bool]) -> tuple[Overload, ...]:
    return (
        Overload(
            id=overload,
            parameters=(_IP,),
            result=BOOL,
            implementation=lambda ip: check(ip.address),
            member=True,
        ),
    )


def _from_text(overload: str, result: CelType, implementation: Callable[[str], object], cost: Cost = read_once) -> tuple[Overload, ...]:
    return (
        Overload(
            id=overload,
            parameters=(STRING,),
            result=result,
            implementation=implementation,
            cost=cost,
        ),
    )


IP: Final = Library(
    name="kubernetes.net.ip",
    functions={
        "ip": _from_text("string_to_ip", _IP, parse_ip),
        "isIP": _from_text("is_ip", BOOL, _is_ip),
        "ip.isCanonical": _from_text("ip_is_canonical", BOOL, lambda text: str(parse_ip(text)) == text, read_twice),
        "family": (Overload(id="ip_family", parameters=(_IP,), result=INT, implementation=lambda ip: ip.address.version, member=True),),
        "isUnspecified": _predicate("ip_is_unspecified", lambda address: address.is_unspecified),
        "isLoopback": _predicate("ip_is_loopback", lambda address: address.is_loopback),
        "isLinkLocalMulticast": _predicate("ip_is_link_local_multicast", _is_link_local_multicast),
        "isLinkLocalUnicast": _predicate("ip_is_link_local_unicast", lambda address: address.is_link_local),
        "isGlobalUnicast": _predicate("ip_is_global_unicast", _is_global_unicast),
        "string": (Overload(id="ip_to_string", parameters=(_IP,), result=STRING, implementation=str),),
    },
    types=(_IP,),
)
