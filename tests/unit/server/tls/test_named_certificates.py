"""Which certificate is shown to whom."""

import asyncio
import ssl
from pathlib import Path

import pytest

from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.meta.flags import OptionsError
from apiext.server.flags import read_options
from apiext.server.options import NamedFiles
from apiext.server.tls.context import Keys
from apiext.server.tls.dynamic_tls import Entrance
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
    # who is given names goes by its own ones only where nobody else has them
    ("later", "default"),
    ("later.example.com", "later"),
]


class Several:
    """An entrance with several certificates."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.keys = [
            self.issue("default", ["default.example.com", "default"]),
            self.issue("own", ["own.example.com", "*.own.example.com"]),
            self.issue("given", ["given.example.com"], "own.example.com", "*.wild.example.com", "both.example.com", "10.0.0.1"),
            self.issue("later", ["later.example.com"], "exact.wild.example.com", "both.example.com"),
        ]
        trust = PeerIdentification(clients=Authorities(self.authority.cert.read_bytes()))
        self.entrance = Entrance(self.keys, trust, min_version="VersionTLS12", address="10.0.0.1")

    def issue(self, name: str, hosts: list[str], *names: str) -> Keys:
        """A certificate, perhaps for given names."""
        pair = self.authority.issue(name, hosts=hosts)
        return Keys.read(KeyPair(pair.cert, pair.key), names)

    async def shown(self, name: str) -> str:
        """The common name of the certificate that a client sees who asks for a name."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=self.entrance.context)
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
    """An entrance with several certificates."""
    return Several(tmp_path)


@pytest.mark.parametrize("name, expected", NAMES)
async def test_by_name(several: Several, name: str, expected: str) -> None:
    """The names decide as in the reference."""
    assert await several.shown(name) == expected


async def test_without_a_name(several: Several) -> None:
    """Who sends no name is shown what is given for the address that the server listens on, else the default."""
    assert await several.shown("") == "given"
    default = Entrance(several.keys, several.entrance.identification, min_version="VersionTLS12", address="10.0.0.2")
    several.entrance = default
    assert await several.shown("") == "default"


async def test_exchanged_one_by_one(several: Several) -> None:
    """Each certificate can be exchanged without the others, and who is believed without any."""
    assert several.entrance.show(several.issue("new", ["new.example.com"]), place=1)
    several.entrance.believe(PeerIdentification(clients=Authorities(b"")))

    assert [await several.shown(name) for name in ("new", "own", "default", "later.example.com")] == ["new", "default", "default", "later"]


def test_flag(tmp_path: Path) -> None:
    """The flag may be repeated; names are optional."""
    cert, key = tmp_path / "a.crt", tmp_path / "a.key"
    cert.touch()
    key.touch()

    options = read_options({"tls_sni_cert_key": (f"{cert},{key}", f" {cert} , {key} : *.foo.com, foo.com ")})

    assert options.serving.named == (NamedFiles(cert, key), NamedFiles(cert, key, ("*.foo.com", "foo.com")))


@pytest.mark.parametrize(
    "text, problem",
    [
        ("a.crt", "'a.crt': expected comma separated certificate and key file paths"),
        ("a,b,c:x", "'a,b,c:x': expected comma separated certificate and key file paths"),
        ("a,b:", "'a,b:': empty names list is not allowed"),
        ("/none/a,/none/b", "/none/a: No such file or directory"),
    ],
)
def test_flag_that_cannot_be_used(text: str, problem: str) -> None:
    """What is wrong is told."""
    with pytest.raises(OptionsError) as raised:
        read_options({"tls_sni_cert_key": (text,)})

    assert raised.value.problems[0] == f"--tls-sni-cert-key: {problem}"
