"""TLS contexts of the server."""

from __future__ import annotations

import os
import re
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from apiext.server.tls.server_pki import KeyPair

HTTP1: Final = "http/1.1"
HTTP2: Final = "h2"
_VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class TLSError(Exception):
    """A key or certificate is invalid. The message is one line and names the file."""


@dataclass(frozen=True, slots=True)
class CertKey:
    """A certificate with its intermediates, and its key, in PEM."""

    cert: bytes
    key: bytes
    origin: str
    """The files, for messages."""
    names: tuple[str, ...] = ()
    """The server names of --tls-sni-cert-key; empty for the names in the certificate."""

    @classmethod
    def read(cls, pair: KeyPair, names: tuple[str, ...] = ()) -> CertKey:
        """Read a certificate and its key.

        Raises:
            TLSError: a file cannot be read.
        """
        origin = f"{pair.cert} and {pair.key}"
        try:
            return cls(pair.cert.read_bytes(), pair.key.read_bytes(), origin, names)
        except OSError as error:
            raise TLSError(f"{error.filename}: {error.strerror}") from error


def read_authorities(path: Path) -> bytes:
    """Return the PEM certificates of a file.

    Raises:
        TLSError: the file cannot be read, or holds no certificate.
    """
    try:
        pem = path.read_bytes()
        _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pem)
    except (OSError, ValueError) as error:
        raise TLSError(f"{path} holds no certificates: {error}") from error
    return pem


def server_context(keys: CertKey, *, authorities: bytes, min_version: str, http2: bool = False) -> ssl.SSLContext:
    """Return a context that presents a certificate and accepts client certificates of the authorities (PEM), and offers HTTP/2 if wanted.

    A client certificate is optional. TLS refuses a certificate of another authority. Without authorities the server requests none.

    Raises:
        TLSError: the certificate, its key or the authorities are invalid.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[min_version]
    context.set_alpn_protocols([HTTP2, HTTP1] if http2 else [HTTP1])
    # clients prefer the cipher that is fast on their processors; OpenSSL's order begins with AES-256, Go's with AES-128
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    # a resumed session would lack the intermediate certificates of the client
    context.num_tickets = 0
    try:
        with _as_file(keys.cert) as cert, _as_file(keys.key) as key:
            # refuse encrypted keys instead of prompting for a password
            context.load_cert_chain(cert, key, password=b"")
    except (OSError, ValueError) as error:
        raise TLSError(f"{keys.origin} are not a certificate and its key: {error}") from error
    if not authorities.strip():
        return context
    context.verify_mode = ssl.CERT_OPTIONAL
    # trust intermediate authorities without their root, as Go does
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        _trust(context, authorities)
    except ValueError as error:
        raise TLSError(f"invalid client CA: {error}") from error
    return context


def _trust(context: ssl.SSLContext, pem: bytes) -> None:
    """Add authorities. Raise ValueError (ssl.SSLError is one) for invalid PEM."""
    found = _CERTIFICATE.findall(pem)
    if not found:
        raise ValueError("no certificate found")
    context.load_verify_locations(cadata=b"\n".join(found).decode("ascii"))


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Provide bytes as a file in memory, for a library that reads only files; yield its path."""
    handle = os.memfd_create("apiext-tls")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{handle}"
