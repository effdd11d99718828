"""Client certificates: the common name is the user, each organization a group. A front proxy's certificate names no user.

TLS has verified a certificate against all authorities together. Only with authorities of front proxies does this module determine
the issuing one. Mirrors apiserver pkg/authentication/request/x509 (CommonNameUserConversion and the verifiers).
"""

from __future__ import annotations

import hashlib
import math
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.request import CREDENTIAL_ID, Peer, UserInfo, authenticated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.x509 import Certificate

_KNOWN_CHAINS: Final = 256
"""Maximum of certificates with a cached authority."""


class CertificateAuthorities:
    """The certificate authorities of a PEM text, which may be empty."""

    def __init__(self, pem: bytes) -> None:
        self.pem = pem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CertificateAuthorities) and self.pem == other.pem

    def __hash__(self) -> int:
        return hash(self.pem)

    def issued(self, chain: Sequence[bytes]) -> bool:
        """Return whether one of the authorities signed a certificate of a verified chain, given in DER."""
        return _issued(self.pem, tuple(chain))


@lru_cache(maxsize=_KNOWN_CHAINS)
def _issued(pem: bytes, chain: Sequence[bytes]) -> bool:
    """See CertificateAuthorities.issued. Cached, because a front proxy opens many connections with the same certificate."""
    # the import takes 50 ms: only for certificates that may be a front proxy's
    from cryptography import x509

    return any(
        _signed(authority, certificate) for certificate in map(x509.load_der_x509_certificate, chain) for authority in _certificates(pem)
    )


@lru_cache(maxsize=4)
def _certificates(pem: bytes) -> Sequence[Certificate]:
    from cryptography import x509

    return x509.load_pem_x509_certificates(pem) if pem.strip() else ()


def _signed(authority: Certificate, certificate: Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


@dataclass(frozen=True, slots=True)
class PeerIdentification:
    """Distinguishes users from front proxies by the authority of their certificate."""

    clients: CertificateAuthorities
    proxies: CertificateAuthorities | None = None
    """None without front proxies."""
    proxy_names: frozenset[str] = frozenset()
    """Common names of front proxies; empty for any."""

    @property
    def pem(self) -> bytes:
        """The PEM text of all authorities, for TLS."""
        return self.clients.pem + b"\n" + (self.proxies.pem if self.proxies else b"")

    def keeps(self, peer: Peer, certificate: Mapping[str, Any], chain: Sequence[bytes]) -> bool:
        """Return whether these authorities identify a connection as `peer`, which earlier authorities identified."""
        nothing = Peer(ends=peer.ends)
        if self.proxies is None and not self.clients.issued(chain):
            return peer == nothing
        return peer in (self.identify(certificate, chain), nothing)

    def identify(self, certificate: Mapping[str, Any], chain: Sequence[bytes]) -> Peer:
        """Return the peer of a connection by its certificate.

        `certificate` has the form of `ssl.SSLObject.getpeercert()`; `chain` is the certificate and the intermediate certificates that
        the client sent, in DER.
        """
        end = certificate.get("notAfter")
        ends = min(ssl.cert_time_to_seconds(end) if end else math.inf, *map(_end, chain[1:]), math.inf)
        if self.proxies is None:
            return Peer(user=_authenticated_user(certificate, chain[0]), ends=ends)
        named = not self.proxy_names or _common_name(certificate) in self.proxy_names
        is_proxy, is_client = named and self.proxies.issued(chain), self.clients.issued(chain)
        # without an authority (not yet read from the cluster), refuse no certificate
        refused = bool((self.clients.pem and not is_client) or (self.proxies.pem and not is_proxy))
        user = _authenticated_user(certificate, chain[0]) if is_client else None
        return Peer(user=user, is_front_proxy=is_proxy, ends=ends, is_refused=refused and user is None)


def _end(der: bytes) -> float:
    from cryptography import x509

    return x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()


def _authenticated_user(certificate: Mapping[str, Any], der: bytes) -> UserInfo | None:
    """Return the user of a verified certificate, None without a common name."""
    name = _common_name(certificate)
    if not name:
        return None
    groups = tuple(_attributes(certificate, "organizationName"))
    return authenticated(UserInfo(name, groups, extra={CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)}))


def _common_name(certificate: Mapping[str, Any]) -> str:
    """Return the last common name of the subject, as Go does, empty without one."""
    names = _attributes(certificate, "commonName")
    return names[-1] if names else ""


def _attributes(certificate: Mapping[str, Any], name: str) -> list[str]:
    return [text for rdn in certificate.get("subject", ()) for key, text in rdn if key == name]
