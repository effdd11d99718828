"""Keys of JSON Web Tokens: RSA (RS256) and elliptic curves (ES256, ES384, ES512).

Mirrors kubernetes pkg/serviceaccount/jwt.go (keys and signers). The import takes 50 ms: only for servers that see such a token.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from apiext.api.authentication.tokens import KeysError
from apiext.base.meta.golang import base64_url

if TYPE_CHECKING:
    from collections.abc import Iterable

_BITS: Final = 2048
_CURVES: Final[dict[str, tuple[str, str, hashes.HashAlgorithm]]] = {
    "secp256r1": ("ES256", "P-256", hashes.SHA256()),
    "secp384r1": ("ES384", "P-384", hashes.SHA384()),
    "secp521r1": ("ES512", "P-521", hashes.SHA512()),
}
"""Algorithm, name in JSON Web Keys and hash of each curve."""


class KeyFileError(KeysError):
    """A file has no usable key. The message is the reason."""


def _number(value: int, size: int = 0) -> str:
    return base64_url.encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


@dataclass(frozen=True)
class VerifyingKey:
    """A public key, and how it verifies."""

    public: rsa.RSAPublicKey | ec.EllipticCurvePublicKey

    @cached_property
    def id(self) -> str:
        """The key ID: a hash of the key."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return base64_url.encode(hashlib.sha256(self.public.public_bytes(serialization.Encoding.DER, form)).digest())

    @property
    def algorithm(self) -> str:
        """The only algorithm of signatures by the key."""
        return "RS256" if isinstance(self.public, rsa.RSAPublicKey) else _CURVES[self.public.curve.name][0]

    def verifies(self, algorithm: str, signature: bytes, data: bytes) -> bool:
        """Return whether a signature is valid."""
        if algorithm != self.algorithm:
            return False
        try:
            if isinstance(self.public, rsa.RSAPublicKey):
                self.public.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            else:
                half = len(signature) // 2
                if len(signature) != 2 * _size(self.public.curve):
                    return False
                numbers = encode_dss_signature(int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))
                self.public.verify(numbers, data, ec.ECDSA(_CURVES[self.public.curve.name][2]))
        except InvalidSignature:
            return False
        return True

    def as_jwk(self) -> dict[str, str]:
        """Return the JSON Web Key."""
        head = {"use": "sig", "kty": "RSA" if isinstance(self.public, rsa.RSAPublicKey) else "EC", "kid": self.id}
        if isinstance(self.public, rsa.RSAPublicKey):
            numbers = self.public.public_numbers()
            return {**head, "alg": self.algorithm, "n": _number(numbers.n), "e": _number(numbers.e)}
        point, size = self.public.public_numbers(), _size(self.public.curve)
        curve = _CURVES[self.public.curve.name][1]
        return {**head, "crv": curve, "alg": self.algorithm, "x": _number(point.x, size), "y": _number(point.y, size)}


def _size(curve: ec.EllipticCurve) -> int:
    """Return the bytes of a number of a curve."""
    return (curve.key_size + 7) // 8


@dataclass(frozen=True)
class SigningKey:
    """A private key, and how it signs."""

    private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

    @cached_property
    def public(self) -> VerifyingKey:
        """The public key."""
        return VerifyingKey(self.private.public_key())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of bytes."""
        if isinstance(self.private, rsa.RSAPrivateKey):
            return self.private.sign(data, padding.PKCS1v15(), hashes.SHA256())
        name, size = self.private.curve.name, _size(self.private.curve)
        numbers = decode_dss_signature(self.private.sign(data, ec.ECDSA(_CURVES[name][2])))
        return b"".join(number.to_bytes(size, "big") for number in numbers)


def new_signing_key() -> bytes:
    """Return a new RSA key as PEM text. Takes some 100 ms."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def read_signing_key(pem: bytes) -> SigningKey:
    """Return the private key of a PEM text.

    Raises:
        KeyFileError: there is none, or it is of another type.
    """
    try:
        private = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError("the file has no private key in PEM") from error
    if isinstance(private, rsa.RSAPrivateKey) or (isinstance(private, ec.EllipticCurvePrivateKey) and private.curve.name in _CURVES):
        return SigningKey(private)
    raise KeyFileError("the private key is neither RSA nor of the curves P-256, P-384 and P-521")


def read_verifying_keys(pem: bytes) -> list[VerifyingKey]:
    """Return the public keys of a PEM text: of private keys, public keys and certificates.

    Raises:
        KeyFileError: there are none.
    """
    found = [key for key in map(_public_key, _blocks(pem)) if key is not None]
    if not found:
        raise KeyFileError("the file has no RSA or elliptic curve key in PEM")
    return found


def _blocks(pem: bytes) -> Iterable[bytes]:
    """Return the PEM blocks of a text."""
    parts = pem.split(b"-----BEGIN ")[1:]
    return [b"-----BEGIN " + part for part in parts]


def _public_key(block: bytes) -> VerifyingKey | None:
    public: Any
    try:
        if b"PRIVATE KEY" in block:
            return read_signing_key(block).public
        if b"CERTIFICATE" in block:
            from cryptography import x509

            public = x509.load_pem_x509_certificate(block).public_key()
        else:
            public = serialization.load_pem_public_key(block)
    except (KeyFileError, ValueError, UnsupportedAlgorithm):
        return None
    if isinstance(public, rsa.RSAPublicKey) or (isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES):
        return VerifyingKey(public)
    return None
