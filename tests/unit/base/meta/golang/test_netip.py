"""Errors of Go's parsers of addresses."""

from __future__ import annotations

import pytest

from apiext.base.meta.golang.netip import address_fault, prefix_fault


@pytest.mark.parametrize(
    "text", ["1.2.3.4", "::", "::1", "1::", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"]
)
def test_addresses(text: str) -> None:
    """These are addresses."""
    assert address_fault(text) is None


@pytest.mark.parametrize(
    "text, fault",
    [
        ("x", "unable to parse IP"),
        ("%x", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.2.3.04", "IPv4 field has octet with leading zero"),
        ("1..3.4", 'IPv4 field must have at least one digit (at ".3.4")'),
        ("1.2.x.4", 'unexpected character (at "x.4")'),
        ("1:2", "address string too short"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1:g::", 'each colon-separated field must have at least one digit (at "g::")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:2:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
    ],
)
def test_faults_of_addresses(text: str, fault: str) -> None:
    """The first fault is named, with the text from where."""
    assert address_fault(text) == f'ParseAddr("{text}"): {fault}'


@pytest.mark.parametrize(
    "text, fault",
    [
        ("10.0.0.0", "no '/'"),
        ("10.0.0/8", 'ParseAddr("10.0.0"): IPv4 address too short'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("::1%x/8", "IPv6 zones cannot be present in a prefix"),
    ],
)
def test_faults_of_prefixes(text: str, fault: str) -> None:
    """An address and a length are needed."""
    assert prefix_fault(text) == f'netip.ParsePrefix("{text}"): {fault}'
    assert prefix_fault("10.0.0.0/8") is None
