"""Tests which clients each server authenticates by certificates of intermediate authorities, beside a front-proxy authority."""

import datetime
import http.client
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from apiext.base.tls_trust import trusting_context
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.certificates import Authority, KeyPair
from hack.lib.servers.controlplane import ControlPlane

pytestmark = pytest.mark.slow

PROXIED: Final = {"X-Remote-User": "ann", "X-Remote-Group": "system:masters"}
EXPIRED: Final = datetime.timedelta(minutes=-1)


@dataclass(frozen=True, slots=True)
class Both:
    """The servers, their authorities, and a folder for more."""

    plane: ControlPlane
    server: BareServer
    folder: Path

    def let_in(self, client: KeyPair) -> tuple[bool, bool]:
        """Return whether both servers accept a certificate for its own user, and as a front proxy's for another user; they must agree."""
        answers = [
            tuple(_status(port, self.plane.ca, client, headers) == http.client.OK for headers in ({}, PROXIED))
            for port in (self.plane.port, self.server.port)
        ]
        assert answers[0] == answers[1]
        return answers[0][0], answers[0][1]


def _status(port: int, authority: Path, client: KeyPair, headers: dict[str, str]) -> int:
    """Return the status of an answer, 401 if the handshake fails: the reference answers that afterwards."""
    context = trusting_context(cafile=authority)
    context.load_cert_chain(client.cert, client.key)
    with closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)) as connection:
        with suppress(OSError):
            connection.request("GET", "/api/v1/namespaces", headers=headers)
            return connection.getresponse().status
        return http.client.UNAUTHORIZED


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Start both servers with the same authorities of clients and front proxies."""
    folder = tmp_path_factory.mktemp("client-certificates")
    with ControlPlane(folder / "reference", durable=False) as plane:
        server = BareServer(
            folder,
            extra_args=[
                f"--client-ca-file={plane.ca}",
                f"--requestheader-client-ca-file={plane.front_proxy.cert}",
                "--requestheader-allowed-names=front-proxy-client",
                f"--tls-cert-file={plane.serving.cert}",
                f"--tls-private-key-file={plane.serving.key}",
            ],
        )
        server.ca, server.client_cert, server.client_key = plane.ca, plane.admin.cert, plane.admin.key
        with server:
            yield Both(plane, server, folder)


@pytest.mark.parametrize("proxies", [False, True], ids=["clients", "front proxies"])
def test_intermediate_authorities(both: Both, tmp_path: Path, *, proxies: bool) -> None:
    """Accept certificates of intermediate authorities that the client sends in any order, for exactly what their root is trusted."""
    root = both.plane.front_proxy if proxies else both.plane.authority
    middle = Authority(tmp_path / "middle", "middle", issuer=root)
    lower = Authority(tmp_path / "lower", "lower", issuer=middle)

    def let_in(issuer: Authority, *sends: Authority, name: str = "front-proxy-client") -> tuple[bool, bool]:
        return both.let_in(issuer.issue(name, groups=["system:masters"], sends=sends))

    accepted = (False, True) if proxies else (True, True)
    assert let_in(root) == accepted
    assert let_in(middle, middle) == accepted
    assert let_in(middle, middle, root) == accepted
    assert let_in(lower, lower, middle) == accepted
    assert let_in(lower, middle, lower) == accepted
    assert let_in(middle, middle, name="other") == ((False, False) if proxies else (True, True))
    assert let_in(middle) == (False, False)
    assert let_in(lower, lower) == (False, False)


def test_invalid_chains(both: Both, tmp_path: Path) -> None:
    """Refuse expired and unknown intermediate authorities, and certificates that are not for clients."""
    root = both.plane.authority
    expired = Authority(tmp_path / "expired", "expired", issuer=root, lifetime=EXPIRED)
    unknown = Authority(tmp_path / "unknown", "unknown")
    below = Authority(tmp_path / "below", "below", issuer=unknown)
    middle = Authority(tmp_path / "middle", "middle", issuer=root)
    masters = ["system:masters"]

    assert both.let_in(expired.issue("a", groups=masters, sends=[expired])) == (False, False)
    assert both.let_in(below.issue("a", groups=masters, sends=[below, unknown])) == (False, False)
    assert both.let_in(middle.issue("a", groups=masters, sends=[middle], usages=[ExtendedKeyUsageOID.SERVER_AUTH])) == (False, False)
    assert both.let_in(middle.issue("b", groups=masters, sends=[middle], usages=[ExtendedKeyUsageOID.CLIENT_AUTH])) == (True, True)
