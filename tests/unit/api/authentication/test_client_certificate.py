"""Users and front proxies by client certificates."""

import ssl
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.meta.request import CREDENTIAL_ID
from hack.lib.servers.certificates import Authority, KeyPair

SUBJECT = {"subject": ((("organizationName", "g1"),), (("organizationName", "g2"),), (("commonName", "ann"),))}


TRUSTING = PeerIdentification(clients=CertificateAuthorities(b"never read"))
"""Trusts the verification of TLS, as there are no front proxies."""


def _der(pair: KeyPair) -> bytes:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).public_bytes(Encoding.DER)


def test_returns_name_and_groups() -> None:
    """Take the user from the common name, a group from each organization and system:authenticated, and the credential ID from the hash."""
    peer = TRUSTING.identify(SUBJECT, [b"der"])

    assert not peer.is_front_proxy
    user = peer.user
    assert user is not None
    assert (user.name, user.groups) == ("ann", ("g1", "g2", "system:authenticated"))
    assert user.extra[CREDENTIAL_ID][0].startswith("X509SHA256=")


@pytest.mark.parametrize("certificate", [{}, {"subject": ()}, {"subject": ((("commonName", ""),),)}])
def test_requires_a_common_name(certificate: dict[str, object]) -> None:
    """Return no user for a certificate without a common name."""
    assert TRUSTING.identify(certificate, [b"der"]).user is None


def test_identifies_front_proxies(tmp_path: Path) -> None:
    """Identify a front proxy by the issuing authority and an allowed common name; it is no user."""
    clients, proxies = Authority(tmp_path / "clients"), Authority(tmp_path / "proxies")
    identification = PeerIdentification(
        clients=CertificateAuthorities(clients.cert.read_bytes()),
        proxies=CertificateAuthorities(proxies.cert.read_bytes()),
        proxy_names=frozenset({"front"}),
    )

    def peer(authority: Authority, name: str) -> tuple[bool, bool]:
        found = identification.identify({"subject": ((("commonName", name),),)}, [_der(authority.issue(name))])
        return found.user is not None, found.is_front_proxy

    found = [peer(proxies, "front"), peer(proxies, "other"), peer(clients, "front")]
    assert found == [(False, True), (False, False), (True, False)]


def test_verifies_each_certificate_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for the authority of a certificate once, and again after the authorities changed."""
    proxies, later = Authority(tmp_path / "proxies"), Authority(tmp_path / "later")
    der, asked = _der(proxies.issue("front")), list[bool]()
    load = x509.load_der_x509_certificate

    def loaded(data: bytes) -> object:
        certificate = load(data)

        def verify(authority: x509.Certificate) -> None:
            asked.append(True)
            certificate.verify_directly_issued_by(authority)

        return SimpleNamespace(verify_directly_issued_by=verify)

    monkeypatch.setattr(x509, "load_der_x509_certificate", loaded)

    assert [CertificateAuthorities(proxies.cert.read_bytes()).issued([der]) for _ in range(3)] == [True] * 3
    assert [CertificateAuthorities(later.cert.read_bytes()).issued([der]) for _ in range(3)] == [False] * 3
    assert len(asked) == 2


def test_refuses_unknown_certificates(tmp_path: Path) -> None:
    """Refuse a certificate of neither authority, unless an authority that is not known yet may have issued it."""
    clients, proxies = Authority(tmp_path / "clients"), Authority(tmp_path / "proxies")
    own, other = CertificateAuthorities(clients.cert.read_bytes()), CertificateAuthorities(proxies.cert.read_bytes())
    der, nothing = _der(proxies.issue("other")), CertificateAuthorities(b"")

    def refused(clients: CertificateAuthorities, proxies: CertificateAuthorities, *names: str) -> bool:
        return PeerIdentification(clients=clients, proxies=proxies, proxy_names=frozenset(names)).identify(SUBJECT, [der]).is_refused

    assert refused(own, other)
    assert refused(own, nothing)
    assert refused(nothing, other, "front")
    assert not refused(nothing, other)
    assert not refused(nothing, nothing)
    assert not refused(other, own)


def test_reads_certificates_of_the_ssl_module(tmp_path: Path) -> None:
    """Read user, groups and end from the ssl module's form of a certificate."""
    pair = Authority(tmp_path).issue("admin", groups=["system:masters"])

    certificate = ssl._ssl._test_decode_cert(str(pair.cert))  # type: ignore[attr-defined]  # noqa: SLF001 -- as a connection returns it
    peer = PeerIdentification(clients=CertificateAuthorities(b"")).identify(certificate, [b"der"])

    assert peer.user is not None
    assert (peer.user.name, peer.user.groups) == ("admin", ("system:masters", "system:authenticated"))
    assert peer.ends == _end(pair)


def _end(pair: KeyPair) -> float:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).not_valid_after_utc.timestamp()


def test_follows_intermediate_authorities(tmp_path: Path) -> None:
    """Identify a certificate by the root of its chain, keep it with other roots of the same chain, and end with its first expiration."""
    root, other = Authority(tmp_path / "root"), Authority(tmp_path / "other")
    middle = Authority(tmp_path / "middle", "middle", issuer=root, lifetime=timedelta(hours=1))
    chain = [_der(middle.issue("ann")), _der(middle.pair)]

    def trusting(clients: Authority, proxies: Authority | None) -> PeerIdentification:
        own = CertificateAuthorities(clients.cert.read_bytes())
        return PeerIdentification(clients=own, proxies=CertificateAuthorities(proxies.cert.read_bytes()) if proxies else None)

    peer = trusting(root, other).identify(SUBJECT, chain)

    assert (peer.user is not None, peer.is_front_proxy, peer.ends) == (True, False, _end(middle.pair))
    assert trusting(other, root).identify(SUBJECT, chain).is_front_proxy
    assert [trusting(*roots).keeps(peer, SUBJECT, chain) for roots in ((root, None), (middle, other), (other, None), (other, root))] == [
        *(True, True),
        *(False, False),
    ]
