"""The server's side of TLS."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from apiext.server.tls.server_pki import KeyPair

_VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class TLSError(Exception):
    """Keys or certificates that cannot be used; the message is one line that says which."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A certificate, what leads from it to its authority, and its key; in PEM."""

    cert: bytes
    key: bytes
    origin: str
    """What messages call it."""
    names: tuple[str, ...] = ()
    """The names that it is for, where they were given."""

    @classmethod
    def read(cls, pair: KeyPair, names: tuple[str, ...] = ()) -> Keys:
        """What two files hold now. Raises TLSError where one cannot be read."""
        origin = f"{pair.cert} and {pair.key}"
        try:
            return cls(pair.cert.read_bytes(), pair.key.read_bytes(), origin, names)
        except OSError as error:
            raise TLSError(f"{error.filename}: {error.strerror}") from error


def read_authorities(path: Path) -> bytes:
    """The certificates of a file, in PEM.

    Raises:
        TLSError: there are none.
    """
    try:
        pem = path.read_bytes()
        _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pem)
    except (OSError, ValueError) as error:
        raise TLSError(f"{path} holds no certificates: {error}") from error
    return pem


def server_context(keys: Keys, *, authorities: bytes, min_version: str) -> ssl.SSLContext:
    """A context that shows a certificate and lets clients show one of the authorities', which are in PEM.

    A client without a certificate gets in, and is a matter of authentication then; one with a certificate of another
    authority is turned away by TLS. Without authorities nobody is asked for a certificate.

    Raises:
        TLSError: something cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[min_version]
    context.set_alpn_protocols(["http/1.1"])
    # one ticket serves the one client of a connection; each costs a record on every handshake
    context.num_tickets = 1
    try:
        with _as_file(keys.cert) as cert, _as_file(keys.key) as key:
            # a key under a password is refused: nobody is there to be asked
            context.load_cert_chain(cert, key, password=b"")
    except (OSError, ValueError) as error:
        raise TLSError(f"{keys.origin} are no certificate and its key: {error}") from error
    if not authorities.strip():
        return context
    context.verify_mode = ssl.CERT_OPTIONAL
    # an authority that another one has certified is trusted by itself, as in the reference
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        _trust(context, authorities)
    except ValueError as error:
        raise TLSError(f"the authorities of client certificates cannot be used: {error}") from error
    return context


def _trust(context: ssl.SSLContext, pem: bytes) -> None:
    """Add authorities. Raises ValueError, as ssl.SSLError is one."""
    found = _CERTIFICATE.findall(pem)
    if not found:
        raise ValueError("no certificate found")
    context.load_verify_locations(cadata=b"\n".join(found).decode("ascii"))


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A name under which bytes can be read, for a library that reads only files; in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("apiext-tls")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{handle}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield file.name
