"""IP addresses and prefixes as Go's net/netip reads and prints them, with its error texts."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from apiext.meta.golang.formatting import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_IPV6_BYTES: Final = 16
_GROUP: Final = re.compile("[0-9a-fA-F]*")
_GROUP_DIGITS: Final = 4
_BITS: Final = re.compile("0|[1-9][0-9]*", re.ASCII)
_MAX_OCTET: Final = 255


def _error(text: str, message: str, at: str = "") -> ValueError:
    return ValueError(f"ParseAddr({quote(text)}): {message}{f' (at {quote(at)})' if at else ''}")


def parse_address(text: str) -> tuple[Address, str]:
    """Parse an address; return it and its zone.

    Raises:
        ValueError: it is no address; the text is Go's.
    """
    separator = re.search("[.:%]", text)
    if separator is None:
        raise _error(text, "unable to parse IP")
    if separator[0] == "%":
        raise _error(text, "missing IPv6 address")
    if separator[0] == ".":
        return ipaddress.IPv4Address(_ipv4(text, text)), ""
    return _ipv6(text)


def _ipv4(text: str, part: str) -> bytes:
    """Read four octets from a part of a text. Raises ValueError."""
    octets: list[int] = []
    value = digits = 0
    for index, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _error(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > _MAX_OCTET:
                raise _error(text, "IPv4 field has value >255")
        elif char == ".":
            if not digits or index == len(part) - 1:
                raise _error(text, "IPv4 field must have at least one digit", part[index:])
            if len(octets) == 3:
                raise _error(text, "IPv4 address too long")
            octets.append(value)
            value = digits = 0
        else:
            raise _error(text, "unexpected character", part[index:])
    if len(octets) < 3:
        raise _error(text, "IPv4 address too short")
    return bytes([*octets, value])


def _ipv6(text: str) -> tuple[ipaddress.IPv6Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _error(text, "zone must be a non-empty string")
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return ipaddress.IPv6Address(0), zone
    address = bytearray()
    while len(address) < _IPV6_BYTES:
        group, rest = _group(text, rest)
        if rest.startswith("."):
            address += _embedded(text, group + rest, len(address), ellipsis)
            rest = ""
            break
        address += int(group, 16).to_bytes(2, "big")
        if not rest:
            break
        rest = _after_colon(text, rest)
        if rest.startswith(":"):
            if ellipsis >= 0:
                raise _error(text, "multiple :: in address", rest)
            ellipsis, rest = len(address), rest[1:]
            if not rest:
                break
    if rest:
        raise _error(text, "trailing garbage after address", rest)
    return ipaddress.IPv6Address(_expanded(text, bytes(address), ellipsis)), zone


def _group(text: str, rest: str) -> tuple[str, str]:
    """Return the hexadecimal digits at the beginning, and what follows them. Raises ValueError."""
    found = _GROUP.match(rest)
    group = found[0] if found else ""
    if len(group) > _GROUP_DIGITS:
        raise _error(text, "each group must have 4 or less digits", rest)
    if not group:
        raise _error(text, "each colon-separated field must have at least one digit", rest)
    return group, rest[len(group) :]


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _embedded(text: str, part: str, position: int, ellipsis: int) -> bytes:
    """Read the IPv4 address at the end of an IPv6 address. Raises ValueError."""
    last = _IPV6_BYTES - 4
    if ellipsis < 0 and position != last:
        raise _error(text, "embedded IPv4 address must replace the final 2 fields of the address", part)
    if position > last:
        raise _error(text, "too many hex fields to fit an embedded IPv4 at the end of the address", part)
    return _ipv4(text, part)


def _expanded(text: str, address: bytes, ellipsis: int) -> bytes:
    missing = _IPV6_BYTES - len(address)
    if missing and ellipsis < 0:
        raise _error(text, "address string too short")
    if not missing and ellipsis >= 0:
        raise _error(text, "the :: must expand to at least one field of zeros")
    return address[:ellipsis] + bytes(missing) + address[ellipsis:] if missing else address


def parse_prefix(text: str) -> tuple[Address, int]:
    """Parse an address with a prefix length, `address/bits`.

    Raises:
        ValueError: it is no prefix; the text is Go's.
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
    if not _BITS.fullmatch(bits) or len(bits) > len(str(2**63)) or int(bits) >= 2**63:
        raise _prefix_error(text, f"bad bits after slash: {quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _prefix_error(text, "prefix length out of range")
    return address, int(bits)


def _prefix_error(text: str, message: str) -> ValueError:
    return ValueError(f"netip.ParsePrefix({quote(text)}): {message}")
