"""What the client certificate of a connection says: a user, or a front proxy.

The TLS layer has verified it against all authorities together; which of them it belongs to is found out here where it
makes a difference. Mirrors apiserver pkg/authentication/request/x509 (the verifiers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.authentication.x509 import common_name, end_of, user_of
from apiext.meta.request import Peer
from apiext.meta.user import authenticated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.x509 import Certificate

    from apiext.meta.request import UserInfo


class Authorities:
    """The certificate authorities of a PEM text, which may be empty."""

    def __init__(self, pem: bytes) -> None:
        self.pem = pem
        self._certificates: Sequence[Certificate] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Authorities) and self.pem == other.pem

    def __hash__(self) -> int:
        return hash(self.pem)

    def issued(self, der: bytes) -> bool:
        """Whether one of them has signed a certificate."""
        # loaded when a front proxy is first told from a user, which most servers never have to
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature

        if self._certificates is None:
            self._certificates = x509.load_pem_x509_certificates(self.pem) if self.pem.strip() else ()
        certificate = x509.load_der_x509_certificate(der)
        for authority in self._certificates:
            try:
                certificate.verify_directly_issued_by(authority)
            except (ValueError, TypeError, InvalidSignature):
                continue
            return True
        return False


@dataclass(frozen=True, slots=True)
class PeerIdentification:
    """Tells what a verified certificate is good for."""

    clients: Authorities
    proxies: Authorities | None = None
    proxy_names: frozenset[str] = frozenset()
    """Common names of front proxies; empty for any."""

    @property
    def pem(self) -> bytes:
        """All authorities, by which TLS verifies certificates."""
        return self.clients.pem + b"\n" + (self.proxies.pem if self.proxies else b"")

    def keeps(self, peer: Peer, certificate: Mapping[str, Any], der: bytes) -> bool:
        """Whether a peer that was identified by other authorities may be taken for the same by these.

        Those with intermediate certificates may not: they are not at hand any more.
        """
        nothing = Peer(ends=peer.ends)
        if self.proxies is None and not self.clients.issued(der):
            return peer == nothing
        return peer in (self.identify(certificate, der), nothing)

    def identify(self, certificate: Mapping[str, Any], der: bytes) -> Peer:
        """The peer of a connection.

        `certificate` is in the form of `ssl.SSLObject.getpeercert()`, `der` its bytes.
        """
        ends = end_of(certificate)
        if self.proxies is None:
            return Peer(user=_user(certificate, der), ends=ends)
        named = not self.proxy_names or common_name(certificate) in self.proxy_names
        is_proxy, is_client = named and self.proxies.issued(der), self.clients.issued(der)
        # authorities that are not known yet refuse nobody
        refused = bool((self.clients.pem and not is_client) or (self.proxies.pem and not is_proxy))
        user = _user(certificate, der) if is_client else None
        return Peer(user=user, is_front_proxy=is_proxy, ends=ends, is_refused=refused and user is None)


def _user(certificate: Mapping[str, Any], der: bytes) -> UserInfo | None:
    user = user_of(certificate, der)
    return authenticated(user) if user else None
