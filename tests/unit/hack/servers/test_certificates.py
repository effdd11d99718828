"""Tests of the certificates that other tests issue."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from hack.lib.servers.certificates import Authority, write_key


def test_an_issued_certificate_is_signed_by_its_authority(tmp_path: Path) -> None:
    """Verify an issued certificate with the authority's certificate, and with no other one of this name."""
    authority, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    own, foreign = (x509.load_pem_x509_certificate(one.cert.read_bytes()) for one in (authority, other))

    certificate = x509.load_pem_x509_certificate(authority.issue("server").cert.read_bytes())

    certificate.verify_directly_issued_by(own)
    assert certificate.issuer == own.subject == foreign.subject
    with pytest.raises(InvalidSignature):
        certificate.verify_directly_issued_by(foreign)


def test_user_and_groups_are_the_subject(tmp_path: Path) -> None:
    """Set the name as common name and each group as organization, as Kubernetes reads them."""
    pair = Authority(tmp_path).issue("system:node:one", groups=["a", "b"])

    subject = x509.load_pem_x509_certificate(pair.cert.read_bytes()).subject

    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["system:node:one"]
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["a", "b"]
    assert pair.cert.name == "system-node-one.crt"


def test_keys_are_private(tmp_path: Path) -> None:
    """Let only the owner read a key."""
    keys = [Authority(tmp_path).issue("server").key, write_key(tmp_path / "sa" / "service-account.key")]

    assert [key.stat().st_mode & 0o777 for key in keys] == [0o600, 0o600]
