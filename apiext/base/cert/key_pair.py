"""Checks whether a certificate and a private key belong together (Go's crypto/tls, X509KeyPair)."""

from __future__ import annotations

import re
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

_BLOCK: Final = re.compile(rb"-----BEGIN ([^\n-]*)-----\n(.*?)-----END \1-----", re.DOTALL)
_KEYS: Final = (
    (rsa.RSAPublicKey, rsa.RSAPrivateKey),
    (ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey),
    (ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey),
)


def key_pair_error(certificate: bytes, key: bytes) -> str:
    """Return why a certificate and a key in PEM are no pair, "" if they are one. Texts about malformed contents are not Go's."""
    certificates, keys = _blocks(certificate), _blocks(key)
    names = [name for name, _ in certificates]
    if "CERTIFICATE" not in names:
        return _no_certificate(names)
    skipped: list[str] = []
    for name, _ in keys:
        if name == "PRIVATE KEY" or name.endswith(" PRIVATE KEY"):
            break
        skipped.append(name)
    else:
        return _no_key(skipped)
    try:
        public = x509.load_pem_x509_certificate(certificates[names.index("CERTIFICATE")][1]).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        private = serialization.load_pem_private_key(keys[len(skipped)][1], None)
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    for public_type, private_type in _KEYS:
        if isinstance(public, public_type):
            if not isinstance(private, private_type):
                return "tls: private key type does not match public key type"
            return "" if private.public_key() == public else "tls: private key does not match public key"
    return "tls: unknown public key algorithm"


def _blocks(data: bytes) -> list[tuple[str, bytes]]:
    """Return the names of the PEM blocks, and the blocks."""
    return [(found[1].decode(errors="replace"), found[0] + b"\n") for found in _BLOCK.finditer(data)]


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"
        )
    what = f"[{' '.join(skipped)}]"
    return f'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: {what}'


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == ["CERTIFICATE"]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    what = f"[{' '.join(skipped)}]"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following '
        f"types: {what}"
    )
