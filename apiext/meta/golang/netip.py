"""IP addresses and prefixes as Go's net/netip reads them. The standard library parses; errors of IPv4 addresses have Go's texts."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from apiext.meta.golang.formatting import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_DIGITS: Final = re.compile("[0-9]*")
_BITS: Final = re.compile("0|[1-9][0-9]{0,17}", re.ASCII)
_OCTETS: Final = 4
_MAX_OCTET: Final = 255


def parse_address(text: str) -> tuple[Address, str]:
    """Parse an address; return it and its zone.

    Raises:
        ValueError: it is no address.
    """
    if ":" not in text:
        if problem := _ipv4_problem(text):
            raise ValueError(f"ParseAddr({quote(text)}): {problem}")
        return ipaddress.IPv4Address(text), ""
    address, percent, zone = text.partition("%")
    if percent and not zone:
        raise ValueError(f"ParseAddr({quote(text)}): zone must be a non-empty string")
    try:
        return ipaddress.IPv6Address(address), zone
    except ValueError as error:
        raise ValueError(f"ParseAddr({quote(text)}): {error}") from None


def _ipv4_problem(text: str) -> str:
    """Return what is wrong with the text of an IPv4 address, "" if it is valid."""
    octets, at = text.split("."), 0
    if len(octets) == 1:
        return "unable to parse IP"
    for number, octet in enumerate(octets):
        digits = _DIGITS.match(octet)
        if digits and digits.end() < len(octet):
            return f"unexpected character (at {quote(text[at + digits.end() :])})"
        if not octet:
            return f"IPv4 field must have at least one digit (at {quote(text[min(at, len(text) - 1) :])})"
        if octet.startswith("0") and octet != "0":
            return "IPv4 field has octet with leading zero"
        if len(octet) > len(str(_MAX_OCTET)) or int(octet) > _MAX_OCTET:
            return "IPv4 field has value >255"
        if number == _OCTETS:
            return "IPv4 address too long"
        at += len(octet) + 1
    return "" if len(octets) == _OCTETS else "IPv4 address too short"


def parse_prefix(text: str) -> tuple[Address, int]:
    """Parse an address with a prefix length, `address/bits`.

    Raises:
        ValueError: it is no prefix.
    """
    whole, slash, bits = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        address, zone = parse_address(whole)
    except ValueError as error:
        raise _prefix_error(text, str(error)) from None
    if zone:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise _prefix_error(text, f"bad bits after slash: {quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _prefix_error(text, "prefix length out of range")
    return address, int(bits)


def _prefix_error(text: str, message: str) -> ValueError:
    return ValueError(f"netip.ParsePrefix({quote(text)}): {message}")
