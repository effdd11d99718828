"""Addresses and prefixes as Go reads them."""

import re

import pytest

from apiext.meta.golang.netip import parse_address, parse_prefix


@pytest.mark.parametrize(
    "text, canonical, zone",
    [
        ("127.0.0.1", "127.0.0.1", ""),
        ("2001:DB8::0:0:0:abcd", "2001:db8::abcd", ""),
        ("::", "::", ""),
        ("::1.2.3.4", "::102:304", ""),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304", ""),
        ("fe80::1%eth0", "fe80::1", "eth0"),
        ("1::", "1::", ""),
    ],
)
def test_reads_addresses(text: str, canonical: str, zone: str) -> None:
    """An address has one canonical text; a zone is kept apart."""
    address, found = parse_address(text)

    assert (str(address), found) == (canonical, zone)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "unable to parse IP"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("256.2.3.4", "IPv4 field has value >255"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.a", 'unexpected character (at "a")'),
        ("::1%", "zone must be a non-empty string"),
        *(
            (text, "")
            for text in ("1%", "12345::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "1:", ":::1", "1:g::")
        ),
    ],
)
def test_rejects_other_addresses(text: str, message: str) -> None:
    """The error names the text; that of an IPv4 address is Go's."""
    with pytest.raises(ValueError, match=re.escape(f'ParseAddr("{text}"): {message}')):
        parse_address(text)


@pytest.mark.parametrize(
    "text, message",
    [
        ("1.2.3.4", "no '/'"),
        ("1.2.3.4/08", 'bad bits after slash: "08"'),
        ("1.2.3.4/33", "prefix length out of range"),
        ("1.2.3.4/9223372036854775808", 'bad bits after slash: "9223372036854775808"'),
        ("::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("1/8", 'ParseAddr("1"): unable to parse IP'),
    ],
)
def test_rejects_other_prefixes(text: str, message: str) -> None:
    """The error is Go's."""
    with pytest.raises(ValueError, match=re.escape(f'netip.ParsePrefix("{text}"): {message}')):
        parse_prefix(text)


def test_reads_prefixes() -> None:
    """The bits behind a prefix stay."""
    address, bits = parse_prefix("10.1.2.3/8")

    assert (str(address), bits) == ("10.1.2.3", 8)
