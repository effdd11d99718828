"""Formats of network addresses, names and URIs."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable

from apiext.base.meta.golang.url import parse_request_uri
from apiext.schema.pattern import Pattern, compile_pattern

_LEADING_ZEROS = re.compile("(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
_PREFIX = re.compile("[^%/]+/[0-9]+")

_HEX = "[0-9a-fA-F]"
_LETTER = r"[a-zA-Z0-9\p{S}\p{L}]"


@functools.cache
def _mac() -> re.Pattern[str]:
    # Compiled at first use: this takes long.
    return re.compile(
        "|".join(f"{_HEX}{{2}}(?:{separator}{_HEX}{{2}}){{{octets - 1}}}" for separator in ("", ":", "-") for octets in (6, 8, 20))
        + "|"
        + "|".join(rf"{_HEX}{{4}}(?:\.{_HEX}{{4}}){{{pairs - 1}}}" for pairs in (3, 4, 10))
    )


@functools.cache
def _hostname() -> Pattern:
    # Compiled at first use: this takes long.
    return compile_pattern(
        rf"^({_LETTER}((-?[a-zA-Z0-9\p{{S}}\p{{L}}]{{0,62}})?)"
        rf"|({_LETTER}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_LETTER})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    )


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address (leading zeros allowed), or an IPv6 address that ends in one."""
    parse = ipaddress.IPv6Address if ":" in text else ipaddress.IPv4Address
    return "." in text and "%" not in text and _is_read(parse, _LEADING_ZEROS.sub("", text))


def is_ipv6(text: str) -> bool:
    """Return whether a text is an IPv6 address without zone."""
    return "%" not in text and _is_read(ipaddress.IPv6Address, text)


def is_cidr(text: str) -> bool:
    """Return whether a text is an address (leading zeros allowed) with a prefix length."""
    return _PREFIX.fullmatch(text) is not None and _is_read(ipaddress.ip_interface, _LEADING_ZEROS.sub("", text))


def _is_read(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def is_request_uri(text: str) -> bool:
    """Return whether a text is an absolute URI or an absolute path (Go's net/url.ParseRequestURI)."""
    return _is_read(parse_request_uri, text)


def is_mac(text: str) -> bool:
    """Return whether a text is a hardware address of 6, 8 or 20 octets."""
    return _mac().fullmatch(text) is not None


def is_hostname(text: str) -> bool:
    """Return whether a text is a host name: letters and symbols of any script, except in the top-level domain."""
    if not _hostname().matches(text):
        return False
    encoded = text.encode()
    return len(encoded) <= 255 and all(len(label) <= 63 for label in encoded.split(b"."))
