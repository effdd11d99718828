"""Issues keys and certificates for the programs that tests start: PEM files, valid for a day."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_LIFETIME: Final = datetime.timedelta(days=1)


@dataclass(frozen=True)
class KeyPair:
    """The files of a certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """A certificate authority that writes what it issues to one folder."""

    def __init__(
        self, folder: Path, name: str = "ca", *, issuer: Authority | None = None, lifetime: datetime.timedelta = _LIFETIME
    ) -> None:
        """Create an authority: a root, or an intermediate one of the issuer."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _subject(name, ())
        above = issuer or self
        certificate = (
            _builder(self._subject, above._subject, self._key.public_key(), lifetime)  # noqa: SLF001 -- the same class
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .sign(above._key, hashes.SHA256())  # noqa: SLF001 -- the same class
        )
        self.pair = _write(folder, name, certificate, self._key)

    @property
    def cert(self) -> Path:
        """Return the file of the authority's certificate."""
        return self.pair.cert

    def issue(
        self,
        name: str,
        *,
        groups: Sequence[str] = (),
        hosts: Sequence[str] = LOOPBACK,
        usages: Sequence[x509.ObjectIdentifier] = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH),
        sends: Sequence[Authority] = (),
    ) -> KeyPair:
        """Issue a certificate, by default for clients and servers.

        `name` becomes the common name (a Kubernetes user) and the file name; `groups` become the organizations. The certificates of the
        authorities that it `sends` follow in the file.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_subject(name, groups), self._subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair = _write(self.folder, name.replace(":", "-"), certificate, key)
        pair.cert.write_bytes(b"".join([pair.cert.read_bytes(), *(authority.cert.read_bytes() for authority in sends)]))
        return pair


def write_key(path: Path) -> Path:
    """Write a new private key, such as the one that signs service account tokens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_key_pem(ec.generate_private_key(ec.SECP256R1())))
    path.chmod(0o600)
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: datetime.timedelta = _LIFETIME
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + lifetime)
    )


def _subject(name: str, groups: Sequence[str]) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _write(folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    pair = KeyPair(folder / f"{name}.crt", folder / f"{name}.key")
    pair.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(_key_pem(key))
    pair.key.chmod(0o600)
    return pair


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
