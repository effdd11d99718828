"""Users of client certificates, and which certificates are front proxies'."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.authentication.x509 import end_of, user_of
from apiext.meta.user import CREDENTIAL_ID
from hack.lib.servers.certificates import Authority, KeyPair

SUBJECT = {"subject": ((("organizationName", "g1"),), (("organizationName", "g2"),), (("commonName", "ann"),))}


def _der(pair: KeyPair) -> bytes:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).public_bytes(Encoding.DER)


def test_name_and_groups() -> None:
    """The common name is the user and each organization a group; the credential is told by its hash."""
    user = user_of(SUBJECT, b"der")

    assert user is not None
    assert (user.name, user.groups) == ("ann", ("g1", "g2"))
    assert user.extra[CREDENTIAL_ID][0].startswith("X509SHA256=")


@pytest.mark.parametrize("certificate", [{}, {"subject": ()}, {"subject": ((("commonName", ""),),)}])
def test_certificates_of_nobody(certificate: dict[str, object]) -> None:
    """A certificate without a common name is nobody's."""
    assert user_of(certificate, b"der") is None


def test_without_front_proxies() -> None:
    """Where only clients can have certificates, every one that TLS let in is a client's; its user is authenticated."""
    identification = PeerIdentification(clients=Authorities(b"never read"))

    peer = identification.identify(SUBJECT, b"der")

    assert peer.user is not None
    assert peer.user.groups == ("g1", "g2", "system:authenticated")
    assert not peer.is_front_proxy


def test_front_proxies_are_told_by_authority_and_name(tmp_path: Path) -> None:
    """A front proxy is whom the proxies' authority has issued a certificate of an allowed name; it is no client."""
    clients, proxies = Authority(tmp_path / "clients"), Authority(tmp_path / "proxies")
    identification = PeerIdentification(
        clients=Authorities(clients.cert.read_bytes()),
        proxies=Authorities(proxies.cert.read_bytes()),
        proxy_names=frozenset({"front"}),
    )

    def peer(authority: Authority, name: str) -> tuple[bool, bool]:
        found = identification.identify({"subject": ((("commonName", name),),)}, _der(authority.issue(name)))
        return found.user is not None, found.is_front_proxy

    found = [peer(proxies, "front"), peer(proxies, "other"), peer(clients, "front")]
    assert found == [(False, True), (False, False), (True, False)]


def test_certificates_of_nobody_who_is_let_in(tmp_path: Path) -> None:
    """Who shows one is not anonymous; authorities that are not known yet refuse nobody."""
    clients, proxies = Authority(tmp_path / "clients"), Authority(tmp_path / "proxies")
    own, other = Authorities(clients.cert.read_bytes()), Authorities(proxies.cert.read_bytes())
    der, nothing = _der(proxies.issue("other")), Authorities(b"")

    def refused(clients: Authorities, proxies: Authorities, *names: str) -> bool:
        return PeerIdentification(clients=clients, proxies=proxies, proxy_names=frozenset(names)).identify(SUBJECT, der).is_refused

    assert refused(own, other)
    assert refused(own, nothing)
    assert refused(nothing, other, "front")
    assert not refused(nothing, other)
    assert not refused(nothing, nothing)
    assert not refused(other, own)


def test_the_form_is_that_of_the_ssl_module(tmp_path: Path) -> None:
    """What the ssl module makes of a real certificate is what users are read from."""
    pair = Authority(tmp_path).issue("admin", groups=["system:masters"])

    user = user_of(ssl._ssl._test_decode_cert(str(pair.cert)), b"der")  # type: ignore[attr-defined]

    assert user is not None
    assert (user.name, user.groups) == ("admin", ("system:masters",))
    assert end_of(ssl._ssl._test_decode_cert(str(pair.cert))) == _end(pair)  # type: ignore[attr-defined]


def _end(pair: KeyPair) -> float:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).not_valid_after_utc.timestamp()
