"""Issues keys and certificates, all with EC P-256: fast to generate and to use."""

from __future__ import annotations

import datetime
import ipaddress
from typing import TYPE_CHECKING, Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

CA_LIFETIME: Final = datetime.timedelta(days=3650)
LIFETIME: Final = datetime.timedelta(days=365)
_CLOCK_SKEW: Final = datetime.timedelta(minutes=5)


class Pem(NamedTuple):
    """A certificate and its key."""

    cert: str
    key: str


def new_authority(name: str, now: datetime.datetime, *, lifetime: datetime.timedelta = CA_LIFETIME) -> Pem:
    """Return a new, self-signed certificate authority."""
    return _authority(name, ec.generate_private_key(ec.SECP256R1()), now, lifetime)


def renew_authority(name: str, authority: Pem, now: datetime.datetime) -> Pem:
    """Return a new certificate of an authority with the same key: clients may trust the old or the new one.

    Raises:
        ValueError, TypeError: the key is not a readable EC key.
    """
    return _authority(name, _key(authority), now, CA_LIFETIME)


def _authority(name: str, key: ec.EllipticCurvePrivateKey, now: datetime.datetime, lifetime: datetime.timedelta) -> Pem:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(subject, subject, key.public_key(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pem(certificate, key)


def issue_serving(authority: Pem, hosts: Sequence[str], now: datetime.datetime) -> Pem:
    """Return a serving certificate for hosts, each a DNS name or an IP address.

    Raises:
        ValueError: a name or the authority is invalid.
    """
    names = x509.SubjectAlternativeName([_host(host) for host in hosts])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "apiext")])
    return _issue(authority, subject, ExtendedKeyUsageOID.SERVER_AUTH, names, now)


def as_ec_key(key: str) -> str:
    """Return an EC key in PEM as `EC PRIVATE KEY` (SEC1), the form that all clients read: not all read EC keys in PKCS 8.

    Raises:
        ValueError, TypeError: the key is not a readable EC key.
    """
    return _key_pem(_key(Pem("", key)))


def belong_together(pair: Pem) -> bool:
    """Return whether a certificate and a key are readable and match."""
    try:
        key = serialization.load_pem_private_key(pair.key.encode(), password=None)
        return x509.load_pem_x509_certificate(pair.cert.encode()).public_key() == key.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False


def issue_client(authority: Pem, user: str, groups: Sequence[str], now: datetime.datetime) -> Pem:
    """Return a client certificate with the user's name and groups."""
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    return _issue(authority, subject, ExtendedKeyUsageOID.CLIENT_AUTH, None, now)


def _key(authority: Pem) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(authority.key.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is not an EC key")
    return key


def _issue(
    authority: Pem,
    subject: x509.Name,
    usage: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
    now: datetime.datetime,
) -> Pem:
    issuer = x509.load_pem_x509_certificate(authority.cert.encode())
    issuer_key = _key(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(subject, issuer.subject, key.public_key(), now, LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return _pem(builder.sign(issuer_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
    lifetime: datetime.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + lifetime)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pem:
    return Pem(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        _key_pem(key),
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
