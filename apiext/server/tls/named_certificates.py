"""Selects one of several serving certificates by the client's server name (SNI).

Mirrors apiserver pkg/server/dynamiccertificates (named_certificates.go) and the selection of Go's crypto/tls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from apiext.server.tls.context import TLSError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from apiext.server.tls.context import CertKey

_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ADDRESS: Final = re.compile(r"\d+(\.\d+){3}")


class NamedCertificates:
    """Selects a context; the first is the default. The others match the names in the flag, or else in their certificate."""

    def __init__(self, keys: Sequence[CertKey], contexts: Sequence[ssl.SSLContext], *, address: str) -> None:
        """Create a selection; each key has a context. `address` is the listening address, empty for all addresses."""
        self._address = address
        self._by_name = _by_name(keys[1:], contexts[1:])
        self._covering = [
            ({name.lower() for name in _dns_names(_parse(one))}, context) for one, context in zip(keys, contexts, strict=True)
        ]

    def choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _context: ssl.SSLContext) -> None:
        """Set the context of a new connection (ssl.SSLContext.sni_callback)."""
        connection.context = self.find(name)

    def find(self, name: str | None) -> ssl.SSLContext:
        """Return the context for a server name, or for the listening address if the client sent no name."""
        default = self._covering[0][1]
        if not name:
            return self._by_name.get(self._address, default)
        asked = (name.lower(), ".".join(["*", *name.lower().split(".")[1:]]))
        for key in asked:
            if key in self._by_name:
                return self._by_name[key]
        return next((context for hosts, context in self._covering if not hosts.isdisjoint(asked)), default)


def _by_name(keys: Sequence[CertKey], contexts: Sequence[ssl.SSLContext]) -> dict[str, ssl.SSLContext]:
    """Return contexts by name. Names in flags take precedence over names in certificates, and earlier names over later ones."""
    given: dict[str, ssl.SSLContext] = {}
    own: dict[str, ssl.SSLContext] = {}
    for one, context in zip(keys, contexts, strict=True):
        for name in one.names:
            given.setdefault(name, context)
        if not one.names:
            for name in _names(_parse(one)):
                own.setdefault(name, context)
    return own | given


def _names(certificate: x509.Certificate) -> list[str]:
    common = [str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return [*filter(_is_domain, common[-1:]), *_dns_names(certificate)]


def _is_domain(name: str) -> bool:
    return name == "*" or (not _ADDRESS.fullmatch(name) and _DOMAIN.fullmatch(name.removeprefix("*.")) is not None)


def _dns_names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return []
    return names.get_values_for_type(x509.DNSName)


def _parse(keys: CertKey) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(keys.cert)
    except ValueError as error:
        raise TLSError(f"invalid certificate of {keys.origin}: {error}") from error
