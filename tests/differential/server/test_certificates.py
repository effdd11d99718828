"""Tests of the certificate that each server presents by name, also after the files change."""

import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from apiext.base.tls_trust import trusting_context
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.certificates import LOOPBACK, Authority, KeyPair
from hack.lib.servers.controlplane import ControlPlane

pytestmark = pytest.mark.slow

NAMES: Final = (
    *("", "localhost", "kube-apiserver", "unknown.example.org", "own", "a.own.example.com", "A.OWN.example.com", "a.b.own.example.com"),
    *("own.example.com", "x.wild.example.com", "exact.wild.example.com", "both.example.com", "given", "given.example.com"),
    *("later", "later.example.com", "x.later.example.com"),
)
SOON: Final = 30.0


@dataclass(frozen=True, slots=True)
class Both:
    """The servers, and the files of their certificates."""

    plane: ControlPlane
    server: BareServer
    files: dict[str, KeyPair]

    def shown(self, name: str) -> tuple[bytes, bytes]:
        """Return the certificates that the reference and apiext present for a server name."""
        return _shown(self.plane.port, self.plane.ca, name), _shown(self.server.port, self.plane.ca, name)

    def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition holds."""
        self.server.process.wait_until(condition, SOON)


def _shown(port: int, authority: Path, name: str) -> bytes:
    context = trusting_context(cafile=authority)
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", port), 5) as plain,
        context.wrap_socket(plain, server_hostname=name or None) as tls,
    ):
        return tls.getpeercert(binary_form=True) or b""


def _files(authority: Authority) -> tuple[dict[str, KeyPair], list[str]]:
    """Return the certificates by name, and the flags that configure them."""
    files = {
        "own": authority.issue("own", hosts=["own.example.com", "*.own.example.com"]),
        "given": authority.issue("given", hosts=["given.example.com", *LOOPBACK]),
        "later": authority.issue("later", hosts=["later.example.com", "*.later.example.com"]),
    }
    given = {
        "own": "",
        "given": ":own.example.com,*.wild.example.com,both.example.com,127.0.0.1",
        "later": ":exact.wild.example.com,both.example.com",
    }
    return files, [f"--tls-sni-cert-key={pair.cert},{pair.key}{given[name]}" for name, pair in files.items()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Start both servers."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder / "named", "named")
    files, flags = _files(authority)
    plane = ControlPlane(folder / "reference", durable=False, extra_args=flags)
    with plane.ca.open("ab") as bundle:
        bundle.write(authority.cert.read_bytes())
    with plane:
        serving = [f"--tls-cert-file={plane.serving.cert}", f"--tls-private-key-file={plane.serving.key}"]
        server = BareServer(folder, extra_args=[*flags, *serving, f"--client-ca-file={plane.ca}"])
        server.ca, server.client_cert, server.client_key = plane.ca, plane.admin.cert, plane.admin.key
        with server:
            yield Both(plane, server, files)


def test_by_name(both: Both) -> None:
    """Present the same certificate for each name."""
    shown = {name: both.shown(name) for name in NAMES}

    assert {name: ours == theirs for name, (theirs, ours) in shown.items()} == dict.fromkeys(NAMES, True)
    assert len({ours for _, ours in shown.values()}) == 4


def test_files_that_change(both: Both) -> None:
    """Present a replaced pair on both servers, and keep the old one while the key does not match."""
    before = both.shown("own")
    changed = Authority(both.server.folder / "changed", "changed")
    with both.plane.ca.open("ab") as bundle:
        bundle.write(changed.cert.read_bytes())
    for name in ("own", "later"):
        pair = changed.issue(name, hosts=[f"{name}.example.com", f"*.{name}.example.com"])
        both.files[name].cert.write_bytes(pair.cert.read_bytes())
        if name == "later":
            both.files[name].key.write_bytes(pair.key.read_bytes())
    new = ssl.PEM_cert_to_DER_cert(both.files["later"].cert.read_text().strip())

    both.until(lambda: both.shown("later.example.com") == (new, new))

    assert both.shown("a.own.example.com") == before
