"""Checks of certificates and keys."""

import datetime

from apiext.base.cert import issuing
from apiext.base.cert.key_pair import key_pair_error

NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def test_pairs() -> None:
    """Accept a certificate with its key, and name the fault of others."""
    one, other = issuing.new_authority("one", NOW), issuing.new_authority("other", NOW)
    certificate, key = one.cert.encode(), one.key.encode()
    broken = b"-----BEGIN %b-----\nAAAA\n-----END %b-----\n"

    assert key_pair_error(b"text before\n" + certificate, key) == ""
    assert key_pair_error(certificate, other.key.encode()) == "tls: private key does not match public key"
    assert key_pair_error(b"", key) == "tls: failed to find any PEM data in certificate input"
    assert "PEM inputs may have been switched" in key_pair_error(key, certificate)
    assert "of the following types: [A B]" in key_pair_error(broken % (b"A", b"A") + broken % (b"B", b"B"), key)
    assert key_pair_error(certificate, b"") == "tls: failed to find any PEM data in key input"
    assert "found a certificate rather than a key" in key_pair_error(certificate, certificate)
    assert "of the following types: [A]" in key_pair_error(certificate, broken % (b"A", b"A"))
    assert key_pair_error(broken % (b"CERTIFICATE", b"CERTIFICATE"), key) == "x509: malformed certificate"
    assert key_pair_error(certificate, broken % (b"PRIVATE KEY", b"PRIVATE KEY")) == "tls: failed to parse private key"
