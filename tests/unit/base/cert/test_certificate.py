"""Reading certificates in PEM."""

import datetime
import ipaddress

import pytest

from apiext.base.cert import certificate, issuing
from apiext.base.cert.issuing import Pem

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
LONG_NAMES = [f"{'a' * 63}.{'b' * 63}.example.com", ".".join(["c" * 61] * 4)]
"""Names of 139 and 247 bytes."""


@pytest.fixture(scope="module")
def authority() -> Pem:
    """Return an authority."""
    return issuing.new_authority("one", NOW)


def test_reads_the_validity(authority: Pem) -> None:
    """Return notBefore and notAfter, in and after 2050 too."""
    for moment in (NOW, NOW.replace(year=2060)):
        pem = issuing.new_authority("one", moment).cert
        begin, end = certificate.validity(pem) or (NOW, NOW)

        assert begin == moment - datetime.timedelta(minutes=5)
        assert end == certificate.end_of_validity(f"text before\n{pem}{authority.cert}") == moment + issuing.CA_LIFETIME


@pytest.mark.parametrize("pem", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_reads_no_broken_certificate(authority: Pem, pem: str) -> None:
    """Return nothing for a text that holds no readable certificate."""
    assert certificate.validity(pem) is None
    assert certificate.end_of_validity(pem) is None
    assert certificate.hosts_of(pem) == []
    assert not certificate.covers(pem, ["localhost"])
    assert not certificate.is_issued_by(pem, authority.cert)
    assert not certificate.is_issued_by(authority.cert, pem)


@pytest.mark.parametrize("name", LONG_NAMES)
def test_covers_long_names(authority: Pem, name: str) -> None:
    """Find names of 128 bytes and more."""
    pem = issuing.issue_serving(authority, [name, "localhost"], NOW).cert

    assert certificate.covers(pem, [name])
    assert not certificate.covers(pem, [name[1:]])


def test_covers_addresses(authority: Pem) -> None:
    """Find IP addresses however they are written, and never as a DNS name."""
    address = ipaddress.ip_address("fd00::1")
    pem = issuing.issue_serving(authority, [str(address), "10.0.0.1"], NOW).cert

    assert certificate.covers(pem, [address.exploded, "10.0.0.1"])
    assert not certificate.covers(pem, ["10.0.0.2"])


def test_splits_a_bundle(authority: Pem) -> None:
    """Return each certificate, without comments, keys and a block that does not end."""
    other = issuing.new_authority("two", NOW)
    bundle = f"# comment\n{authority.cert}{authority.key}\n{other.cert}-----BEGIN CERTIFICATE-----\n"

    assert certificate.certificates(bundle) == [authority.cert, other.cert]
    assert certificate.certificates("") == []


def test_finds_the_issuer(authority: Pem) -> None:
    """Tell an authority from one of the same name with another key, and know it again after its renewal."""
    pem = issuing.issue_client(authority, "ann", [], NOW).cert

    assert certificate.is_issued_by(pem, authority.cert)
    assert certificate.is_issued_by(pem, issuing.renew_authority("one", authority, NOW).cert)
    assert not certificate.is_issued_by(pem, issuing.new_authority("one", NOW).cert)
