"""Selection of certificates by server name."""

import asyncio
import ssl
from pathlib import Path

import pytest

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.meta.flags import OptionsError
from apiext.server.options.flags import read_options
from apiext.server.options.options import NamedCertificateFiles
from apiext.server.tls.context import CertKey
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers.certificates import Authority

NAMES = [
    ("default.example.com", "default"),
    ("unknown.example.org", "default"),
    # its own names: the common name, and DNS names with and without wildcards
    ("own", "own"),
    ("a.own.example.com", "own"),
    ("A.OWN.example.com", "own"),
    ("a.b.own.example.com", "default"),
    # given names come before own ones, exact ones before wildcards, earlier ones before later ones
    ("own.example.com", "given"),
    ("x.wild.example.com", "given"),
    ("exact.wild.example.com", "later"),
    ("both.example.com", "given"),
    # with given names, own names match only if no other certificate has them
    ("later", "default"),
    ("later.example.com", "later"),
]


class Several:
    """A DynamicTLS with several certificates."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.keys = [
            self.issue("default", ["default.example.com", "default"]),
            self.issue("own", ["own.example.com", "*.own.example.com"]),
            self.issue("given", ["given.example.com"], "own.example.com", "*.wild.example.com", "both.example.com", "10.0.0.1"),
            self.issue("later", ["later.example.com"], "exact.wild.example.com", "both.example.com"),
        ]
        trust = PeerIdentification(clients=CertificateAuthorities(self.authority.cert.read_bytes()))
        self.dynamic_tls = DynamicTLS(self.keys, trust, min_version="VersionTLS12", address="10.0.0.1")

    def issue(self, name: str, hosts: list[str], *names: str) -> CertKey:
        """Return a new certificate, optionally for given names."""
        pair = self.authority.issue(name, hosts=hosts)
        return CertKey.read(KeyPair(pair.cert, pair.key), names)

    async def shown(self, name: str) -> str:
        """Return the common name of the certificate that a client of a server name receives."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=self.dynamic_tls.context)
        context = ssl.create_default_context(cafile=self.authority.cert)
        context.check_hostname = False
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
        subject = writer.get_extra_info("peercert")["subject"]
        writer.close()
        await writer.wait_closed()
        server.close()
        return str(subject[-1][0][1])


@pytest.fixture
def several(tmp_path: Path) -> Several:
    """Return a DynamicTLS with several certificates."""
    return Several(tmp_path)


@pytest.mark.parametrize("name, expected", NAMES)
async def test_selects_by_name(several: Several, name: str, expected: str) -> None:
    """Select certificates by server name as the reference does."""
    assert await several.shown(name) == expected


async def test_selects_by_address(several: Several) -> None:
    """Select the certificate of the listening address without a server name, else the default."""
    assert await several.shown("") == "given"
    default = DynamicTLS(several.keys, several.dynamic_tls.identification, min_version="VersionTLS12", address="10.0.0.2")
    several.dynamic_tls = default
    assert await several.shown("") == "default"


async def test_replaces_single_certificates(several: Several) -> None:
    """Replace one certificate without the others, and authorities without certificates."""
    assert several.dynamic_tls.set_certificate(several.issue("new", ["new.example.com"]), place=1)
    several.dynamic_tls.set_client_trust(PeerIdentification(clients=CertificateAuthorities(b"")))

    assert [await several.shown(name) for name in ("new", "own", "default", "later.example.com")] == ["new", "default", "default", "later"]


def test_parses_the_flag(tmp_path: Path) -> None:
    """Parse repeated values with optional names."""
    cert, key = tmp_path / "a.crt", tmp_path / "a.key"
    cert.touch()
    key.touch()

    options = read_options({"tls_sni_cert_key": (f"{cert},{key}", f" {cert} , {key} : *.foo.com, foo.com ")})

    assert options.serving.named == (NamedCertificateFiles(cert, key), NamedCertificateFiles(cert, key, ("*.foo.com", "foo.com")))


@pytest.mark.parametrize(
    "text, problem",
    [
        ("a.crt", "'a.crt': expected comma separated certificate and key file paths"),
        ("a,b,c:x", "'a,b,c:x': expected comma separated certificate and key file paths"),
        ("a,b:", "'a,b:': empty names list is not allowed"),
        ("/none/a,/none/b", "/none/a: No such file or directory"),
    ],
)
def test_rejects_invalid_values(text: str, problem: str) -> None:
    """Report invalid values."""
    with pytest.raises(OptionsError) as raised:
        read_options({"tls_sni_cert_key": (text,)})

    assert raised.value.problems[0] == f"--tls-sni-cert-key: {problem}"
