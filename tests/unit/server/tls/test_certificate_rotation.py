"""Files that change under a running server, and certificates whose time comes."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import Upkeep
from apiext.server.tls.context import Keys
from apiext.server.tls.credential_files import CredentialFiles
from apiext.server.tls.dynamic_tls import Entrance
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers.certificates import Authority


class Mounted:
    """Files as a mounted Secret has them: links into a folder of the moment, which is exchanged as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.authorities = [Authority(folder.parent / name, name) for name in ("one", "two")]
        self.time = 0.0
        self.renewals = 0
        self.cannot_renew = ""
        self.version = 0
        for name in ("tls.crt", "tls.key", "ca.crt"):
            (folder / name).symlink_to(Path("..data") / name)
        self.put(0)
        self.keys = KeyPair(folder / "tls.crt", folder / "tls.key")
        clients = PeerIdentification(clients=Authorities((folder / "ca.crt").read_bytes()))
        self.entrance = Entrance([Keys.read(self.keys)], clients, min_version="VersionTLS12")
        files = CredentialFiles([(self.keys, ())], folder / "ca.crt", folder / "ca.crt")
        self.upkeep = Upkeep(files.followed_by(self.entrance), self._renew, clock=lambda: self.time)

    def _renew(self) -> None:
        self.renewals += 1
        if self.cannot_renew:
            raise StartError(self.cannot_renew)

    def put(self, number: int) -> None:
        """Put an authority's files in place, all at once."""
        self.version += 1
        data = self.folder / f"..{self.version}"
        data.mkdir()
        authority = self.authorities[number]
        pair = authority.issue(f"server{self.version}")
        for source, name in ((pair.cert, "tls.crt"), (pair.key, "tls.key"), (authority.cert, "ca.crt")):
            shutil.copy(source, data / name)
        (self.folder / "..new").symlink_to(data.name)
        (self.folder / "..new").replace(self.folder / "..data")

    @property
    def is_current(self) -> bool:
        """Whether the entrance goes by what the files hold now."""
        pem = (self.folder / "ca.crt").read_bytes()
        shown, believed = self.entrance.keys == (Keys.read(self.keys),), self.entrance.identification
        return shown and believed.clients.pem == pem and believed.proxies == Authorities(pem)


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    """Files that an entrance was made from."""
    return Mounted(tmp_path / "mounted")


async def test_files_that_change(mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    """Links that lead to other files from now on are noticed at the next look, and what they lead to is used."""
    await mounted.upkeep.look()
    assert mounted.is_current
    caplog.set_level(logging.INFO)

    mounted.put(1)
    await mounted.upkeep.look()

    assert mounted.is_current
    assert [record.message for record in caplog.records] == ["changed files are used from now on"] * 3


async def test_nothing_happens_while_nothing_changes(mounted: Mounted) -> None:
    """Files that are written again as they were change nothing."""
    await mounted.upkeep.look()
    context = mounted.entrance.context.current
    data = mounted.keys.cert.read_bytes()
    mounted.keys.cert.write_bytes(data)
    mounted.time += 100

    await mounted.upkeep.look()

    assert mounted.entrance.context.current is context


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone"])
async def test_broken_files(mounted: Mounted, caplog: pytest.LogCaptureFixture, name: str, damage: str) -> None:
    """What cannot be used is told once by name and what was there stays, until the file is whole."""
    await mounted.upkeep.look()
    kept = mounted.entrance.keys, mounted.entrance.identification, mounted.entrance.context.current
    path = (mounted.folder / name).resolve()
    whole = path.read_bytes()
    path.unlink() if damage == "gone" else path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"")

    for _ in range(3):
        mounted.time += 61
        await mounted.upkeep.look()

    assert (mounted.entrance.keys, mounted.entrance.identification, mounted.entrance.context.current) == kept
    told = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(told) == (2 if name == "ca.crt" else 1)
    assert all(name in record.fields["error"] for record in told)  # type: ignore[attr-defined]
    path.write_bytes(whole)
    mounted.put(1)
    await mounted.upkeep.look()
    assert mounted.is_current


async def test_pair_that_does_not_match_yet(mounted: Mounted) -> None:
    """A certificate whose key is written later is used with its key."""
    await mounted.upkeep.look()
    before = mounted.entrance.keys
    pair = mounted.authorities[0].issue("next")

    mounted.keys.cert.write_bytes(pair.cert.read_bytes())
    await mounted.upkeep.look()
    assert mounted.entrance.keys == before
    mounted.keys.key.write_bytes(pair.key.read_bytes())
    await mounted.upkeep.look()

    assert mounted.entrance.keys == (Keys.read(mounted.keys),)


async def test_changes_that_the_system_does_not_tell(mounted: Mounted) -> None:
    """Once a minute files are looked into, whatever the system says of them."""
    await mounted.upkeep.look()
    path = mounted.keys.cert.resolve(), mounted.keys.key.resolve()
    stamps = [file.stat() for file in path]
    pair = mounted.authorities[0].issue("server1")
    for file, source, stamp in zip(path, (pair.cert, pair.key), stamps, strict=True):
        data = source.read_bytes()
        file.write_bytes(data.ljust(stamp.st_size, b"\n")[: max(stamp.st_size, len(data))])
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    mounted.time += 59
    await mounted.upkeep.look()
    mounted.time += 1
    await mounted.upkeep.look()

    assert mounted.entrance.keys == (Keys.read(mounted.keys),)


async def test_own_certificates_are_looked_after(mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    """Once a minute own certificates are renewed where they are due; that they cannot be is told once."""
    mounted.cannot_renew = "certificates cannot be kept in /x: Read-only file system"
    for second in range(125):
        mounted.time = float(second)
        await mounted.upkeep.look()

    assert mounted.renewals == 3
    assert [record.fields for record in caplog.records] == [{"error": mounted.cannot_renew}]  # type: ignore[attr-defined]
