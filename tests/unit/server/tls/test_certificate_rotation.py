"""Reloading of certificate files, and renewal of own certificates."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.server.start_error import StartError
from apiext.server.tls.certificate_rotation import CertificateRotation
from apiext.server.tls.context import CertKey
from apiext.server.tls.credentials import watched_files
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers.certificates import Authority


class Mounted:
    """Files of a mounted Secret: links into a directory that is replaced atomically."""

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
        clients = PeerIdentification(clients=CertificateAuthorities((folder / "ca.crt").read_bytes()))
        self.dynamic_tls = DynamicTLS([CertKey.read(self.keys)], clients, min_version="VersionTLS12")
        files = watched_files(self.dynamic_tls, [(self.keys, ())], folder / "ca.crt", folder / "ca.crt")
        self.rotation = CertificateRotation(files, self._renew, clock=lambda: self.time)

    def _renew(self) -> None:
        self.renewals += 1
        if self.cannot_renew:
            raise StartError(self.cannot_renew)

    def put(self, number: int) -> None:
        """Replace all files with those of an authority."""
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
        """Return whether the content of the files is in use."""
        pem = (self.folder / "ca.crt").read_bytes()
        shown, believed = self.dynamic_tls.keys == (CertKey.read(self.keys),), self.dynamic_tls.identification
        return shown and believed.clients.pem == pem and believed.proxies == CertificateAuthorities(pem)


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    """Return the files of a DynamicTLS."""
    return Mounted(tmp_path / "mounted")


async def test_reloads_changed_files(mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    """Reload files at the next check after their links change."""
    await mounted.rotation.check()
    assert mounted.is_current
    caplog.set_level(logging.INFO)

    mounted.put(1)
    await mounted.rotation.check()

    assert mounted.is_current
    assert [record.message for record in caplog.records] == ["certificate files reloaded"] * 3


async def test_ignores_equal_content(mounted: Mounted) -> None:
    """Keep the TLS context if files are rewritten with the same content."""
    await mounted.rotation.check()
    context = mounted.dynamic_tls.context.current
    data = mounted.keys.cert.read_bytes()
    mounted.keys.cert.write_bytes(data)
    mounted.time += 100

    await mounted.rotation.check()

    assert mounted.dynamic_tls.context.current is context


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone"])
async def test_keeps_the_previous_content(mounted: Mounted, caplog: pytest.LogCaptureFixture, name: str, damage: str) -> None:
    """Log an invalid file once, and keep the previous content until it is valid."""
    await mounted.rotation.check()
    kept = mounted.dynamic_tls.keys, mounted.dynamic_tls.identification, mounted.dynamic_tls.context.current
    path = (mounted.folder / name).resolve()
    whole = path.read_bytes()
    path.unlink() if damage == "gone" else path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"")

    for _ in range(3):
        mounted.time += 61
        await mounted.rotation.check()

    assert (mounted.dynamic_tls.keys, mounted.dynamic_tls.identification, mounted.dynamic_tls.context.current) == kept
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(records) == (2 if name == "ca.crt" else 1)
    assert all(name in record.fields["error"] for record in records)  # type: ignore[attr-defined]
    path.write_bytes(whole)
    mounted.put(1)
    await mounted.rotation.check()
    assert mounted.is_current


async def test_waits_for_the_key(mounted: Mounted) -> None:
    """Use a new certificate once its key is written."""
    await mounted.rotation.check()
    before = mounted.dynamic_tls.keys
    pair = mounted.authorities[0].issue("next")

    mounted.keys.cert.write_bytes(pair.cert.read_bytes())
    await mounted.rotation.check()
    assert mounted.dynamic_tls.keys == before
    mounted.keys.key.write_bytes(pair.key.read_bytes())
    await mounted.rotation.check()

    assert mounted.dynamic_tls.keys == (CertKey.read(mounted.keys),)


async def test_reads_files_periodically(mounted: Mounted) -> None:
    """Read the files once a minute even if their attributes do not change."""
    await mounted.rotation.check()
    path = mounted.keys.cert.resolve(), mounted.keys.key.resolve()
    stamps = [file.stat() for file in path]
    pair = mounted.authorities[0].issue("server1")
    for file, source, stamp in zip(path, (pair.cert, pair.key), stamps, strict=True):
        data = source.read_bytes()
        file.write_bytes(data.ljust(stamp.st_size, b"\n")[: max(stamp.st_size, len(data))])
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    mounted.time += 59
    await mounted.rotation.check()
    mounted.time += 1
    await mounted.rotation.check()

    assert mounted.dynamic_tls.keys == (CertKey.read(mounted.keys),)


async def test_renews_own_certificates(mounted: Mounted, caplog: pytest.LogCaptureFixture) -> None:
    """Renew own certificates once a minute if necessary, and log a failure once."""
    mounted.cannot_renew = "cannot store certificates in /x: Read-only file system"
    for second in range(125):
        mounted.time = float(second)
        await mounted.rotation.check()

    assert mounted.renewals == 3
    assert [record.fields for record in caplog.records] == [{"error": mounted.cannot_renew}]  # type: ignore[attr-defined]
