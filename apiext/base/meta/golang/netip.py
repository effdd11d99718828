"""Errors of Go's parsers of addresses and prefixes (net/netip)."""

from __future__ import annotations

import re
from typing import Final

from apiext.base.meta.golang.formatting import quote

_FIRST_MARK: Final = re.compile("[.:%]")
_HEX: Final = re.compile("[0-9a-fA-F]*")
_BITS: Final = re.compile("0|[1-9][0-9]*")
_GROUPS: Final = 8


class _AddressError(Exception):
    """An address that cannot be parsed, and the text from where."""

    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(message)
        self.at = at


def address_fault(text: str) -> str | None:
    """Return why ParseAddr does not accept a text, None if it does."""
    mark = _FIRST_MARK.search(text)
    try:
        if mark is None:
            raise _AddressError("unable to parse IP")
        if mark[0] == "%":
            raise _AddressError("missing IPv6 address")
        if mark[0] == ".":
            _check_v4(text)
        else:
            _check_v6(text)
    except _AddressError as error:
        return f"ParseAddr({quote(text)}): {error}" + (f" (at {quote(error.at)})" if error.at else "")
    return None


def prefix_fault(text: str) -> str | None:
    """Return why ParsePrefix does not accept a text, None if it does."""
    address, slash, bits = text.rpartition("/")
    fault = None
    if not slash:
        fault = "no '/'"
    elif (wrong := address_fault(address)) is not None:
        fault = wrong
    elif "%" in address:
        fault = "IPv6 zones cannot be present in a prefix"
    elif not _BITS.fullmatch(bits) or len(bits) > 18:
        fault = f"bad bits after slash: {quote(bits)}"
    elif int(bits) > (128 if ":" in address else 32):
        fault = "prefix length out of range"
    return None if fault is None else f"netip.ParsePrefix({quote(text)}): {fault}"


def _check_v4(text: str) -> None:
    fields, digits, value = 0, 0, 0
    for place, char in enumerate(text):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _AddressError("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _AddressError("IPv4 field has value >255")
        elif char == ".":
            if place in {0, len(text) - 1} or text[place - 1] == ".":
                raise _AddressError("IPv4 field must have at least one digit", text[place:])
            if fields == 3:
                raise _AddressError("IPv4 address too long")
            fields, digits, value = fields + 1, 0, 0
        else:
            raise _AddressError("unexpected character", text[place:])
    if fields < 3:
        raise _AddressError("IPv4 address too short")


def _check_v6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _AddressError("zone must be a non-empty string")
    has_gap = rest.startswith("::")
    if has_gap:
        rest = rest[2:]
        if not rest:
            return
    groups = 0
    while groups < _GROUPS:
        after = _after_group(rest)
        if after.startswith("."):
            _check_embedded(rest, groups, has_gap=has_gap)
            rest, groups = "", groups + 2
            break
        groups, rest = groups + 1, after
        if not rest:
            break
        if rest[0] != ":":
            raise _AddressError("unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _AddressError("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if has_gap:
                raise _AddressError("multiple :: in address", rest)
            has_gap, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        raise _AddressError("trailing garbage after address", rest)
    if groups < _GROUPS and not has_gap:
        raise _AddressError("address string too short")
    if groups == _GROUPS and has_gap:
        raise _AddressError("the :: must expand to at least one field of zeros")


def _after_group(rest: str) -> str:
    """Return what follows the digits of a group."""
    found = _HEX.match(rest)
    digits = found[0] if found else ""
    if len(digits) > 4:
        raise _AddressError("each group must have 4 or less digits", rest)
    if not digits:
        raise _AddressError("each colon-separated field must have at least one digit", rest)
    return rest[len(digits) :]


def _check_embedded(rest: str, groups: int, *, has_gap: bool) -> None:
    """Check an IPv4 address in the place of the last two groups."""
    if not has_gap and groups != _GROUPS - 2:
        raise _AddressError("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups > _GROUPS - 2:
        raise _AddressError("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_v4(rest)
