"""Backups as files: complete, or recognizably incomplete."""

import asyncio
import gzip
import json
import os
import resource
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from apiext import __version__
from apiext.storage.backups.stored_pairs import BackupError, offset_of
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.tools.backup.archive_reader import open_backup
from apiext.tools.backup.creation import back_up_store, delete_older, target_file
from apiext.tools.backup.manifest import BackupManifest
from apiext.tools.backup.restoration import SelectedPairs
from apiext.tools.backup.verification import verified
from tests.unit.tools.backup.stores import COUNTS, ENCRYPTED, VALUES, backed_up, embedded, fill, whole


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    """Return a backup of a small store."""
    await fill(tmp_path / "data")
    path = tmp_path / "backup.tar.gz"
    await back_up_store(whole(embedded(tmp_path / "data")), path)
    return path


def test_a_backup_describes_itself(archive: Path) -> None:
    """Store the values unchanged in a file of mode 0600, with a manifest that names the store, its revision and the counts."""
    with open_backup(archive) as opened:
        manifest = verified(opened)

    assert backed_up(archive) == VALUES
    assert archive.stat().st_mode & 0o777 == 0o600
    assert list(archive.parent.glob(".*")) == []
    assert (manifest.store, manifest.prefix, manifest.release) == ("sqlite", "/registry", __version__)
    assert (dict(manifest.resources), manifest.encrypted, manifest.revision) == (COUNTS, 0, len(VALUES) + 1)
    assert BackupManifest.load(manifest.dump()) == manifest


def test_every_cut_is_noticed(archive: Path, tmp_path: Path) -> None:
    """Refuse a backup that ends early, wherever it ends, before anything of it is used."""
    data = archive.read_bytes()
    cut = tmp_path / "cut"
    step = max(1, len(data) // 60)
    for length in {*range(0, len(data), step), *range(len(data) - 12, len(data))}:
        cut.write_bytes(data[:length])
        with pytest.raises(BackupError), open_backup(cut):
            pass


def test_every_changed_part_is_noticed(archive: Path, tmp_path: Path) -> None:
    """Never read changed content, whether the compressed data changed or a member whose compression is right."""
    data = bytearray(archive.read_bytes())
    changed = tmp_path / "changed"
    for at in range(20, len(data), max(1, len(data) // 40)):
        changed.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        # few bits of the compression have no meaning
        with suppress(BackupError):
            assert backed_up(changed) == VALUES

    unpacked = bytearray(gzip.decompress(bytes(data)))
    at = unpacked.index(b"unreadable")
    unpacked[at] ^= 1
    changed.write_bytes(gzip.compress(bytes(unpacked)))
    with pytest.raises(BackupError, match=r"store\.db differs from its checksum"), open_backup(changed):
        pass


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"\x1f\x8b", gzip.compress(b"no tar", mtime=0), b"SQLite format 3\x00" + bytes(4096)],
    ids=["empty", "byte", "magic", "no-tar", "sqlite"],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    """Refuse files that are not backups, and missing ones."""
    path = tmp_path / "other"
    path.write_bytes(data)
    for one in (path, tmp_path / "missing", tmp_path):
        with pytest.raises(BackupError), open_backup(one):
            pass


def test_no_room_to_unpack(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that there is no room, not that the backup is damaged."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(BackupError, match=r"cannot be unpacked in .*: File too large"), open_backup(archive):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(BackupError, match="cannot be unpacked: No such file"), open_backup(archive):
        pass


def test_later_forms_are_refused(archive: Path) -> None:
    """Name the version of a form that this release does not know."""
    with tarfile.open(archive) as tar:
        source = tar.extractfile("backup.json")
        assert source is not None
        document = json.loads(source.read())

    with pytest.raises(BackupError, match="version 2 of the form"):
        BackupManifest.load(json.dumps(document | {"version": 2}).encode())
    changes: list[dict[str, Any]] = [
        {"kind": "Recording"},
        {"members": 1},
        {"members": [{"name": [], "size": 1, "sha256": ""}]},
        {"revision": "1"},
        {"resources": []},
        {"resources": {"widgets.example.com": None}},
        {"prefix": None},
    ]
    others: list[Any] = [{}, [], *(document | change for change in changes)]
    for other in others:
        with pytest.raises(BackupError, match=r"manifest is invalid|not a backup"):
            BackupManifest.load(json.dumps(other).encode())


async def test_backups_beside_writes(tmp_path: Path) -> None:
    """Hold every write that was acknowledged before the backup began, and no part of a later one, while writes go on."""
    backend = await SQLiteBackend.open(tmp_path / "data" / "apiext.db")
    reached = {number: asyncio.Event() for number in (1, 60, 120)}
    acknowledged = 0

    async def write() -> None:
        nonlocal acknowledged
        for number in range(1, 200):
            await backend.create(f"/registry/example.com/widgets/{number:04}", b"x" * 2000)
            acknowledged = number
            if number in reached:
                reached[number].set()

    writing = asyncio.create_task(write())
    for number, event in reached.items():
        await event.wait()
        before = acknowledged
        path = tmp_path / f"{number}.tar.gz"
        await asyncio.to_thread(asyncio.run, back_up_store(whole(embedded(tmp_path / "data")), path))
        found = sorted(backed_up(path))

        assert len(found) >= before
        assert found == [f"example.com/widgets/{number:04}" for number in range(1, len(found) + 1)]
    await writing
    await backend.close()


async def test_encrypted_values_are_copied(tmp_path: Path) -> None:
    """Copy and count encrypted values."""
    await fill(tmp_path / "data", {"secrets/default/s": ENCRYPTED})
    manifest = await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "b")

    assert backed_up(tmp_path / "b") == {"secrets/default/s": ENCRYPTED}
    assert manifest.encrypted == 1


async def test_no_backup_of_nothing(tmp_path: Path) -> None:
    """Refuse a missing, foreign or damaged store, and leave no file."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "apiext.db").write_bytes(b"no database, but a text of some length" * 100)
    await fill(tmp_path / "damaged", {f"example.com/widgets/{n}": b"v" * 3000 for n in range(20)})
    store = tmp_path / "damaged" / "apiext.db"
    data = bytearray(store.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    store.write_bytes(data)
    for folder, message in {"missing": "there is no store", "other": "cannot be copied", "damaged": "damaged"}.items():
        with pytest.raises(BackupError, match=message):
            await back_up_store(whole(embedded(tmp_path / folder)), tmp_path / "b")

    assert {path.name for path in _entries(tmp_path)} == {"other", "damaged"}


async def test_a_backup_of_an_earlier_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept its counts, move records to their present place, once each, and leave out what no other store needs."""
    objects = {f"apiext.dev/{plural}/a": b'{"apiVersion":"apiext.dev/v1"}\n' for plural in ("widgets", "hosts")}
    records = {"apiext.dev/host": b'{"uid":"u"}\n', "apiext.dev/event-expiry": b"{}\n"}
    left_out = {"replicas/members/a": b"{}", "replicas/call": b"{}", "companions/a.b": b"", "revision-base": b'{"base":7}\n'}
    others = {key: value for key, value in VALUES.items() if key != "apiext/host"}
    await fill(tmp_path / "data", others | objects | records | {f"apiext.dev/{name}": value for name, value in left_out.items()})
    with monkeypatch.context() as patched:
        patched.setattr(
            "apiext.storage.backups.stored_pairs.resource_of", lambda key: former_resource_of(key.replace("apiext/", "apiext.dev/"))
        )
        await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "former")
    with open_backup(tmp_path / "former") as opened:
        assert opened.manifest.resources["apiext.dev"] == len(objects | records)
        assert verified(opened).resources["apiext"] == len(records)
        assert offset_of(opened.pairs) == 7
        restored = list(SelectedPairs(opened.pairs).pairs())
        selected = list(SelectedPairs(opened.pairs, ["apiext.dev"]).pairs())

    moved = {key.replace("apiext.dev/", "apiext/"): value for key, value in records.items()}
    assert sorted(restored) == sorted((others | objects | moved).items())
    assert dict(selected) == objects


def former_resource_of(key: str) -> str:
    """Return what an earlier release counted a key as."""
    group, _, rest = key.partition("/")
    plural, slash, _ = rest.partition("/")
    return f"{plural}.{group}" if "." in group and slash and group != "apiext.dev" else group


async def test_records_at_both_places(tmp_path: Path) -> None:
    """Restore a record once whose copy for earlier releases is in the backup, too."""
    await fill(tmp_path / "data", VALUES | {"apiext.dev/host": b'{"uid":"former"}\n'})
    await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "b")
    with open_backup(tmp_path / "b") as opened:
        assert dict(verified(opened).resources) == COUNTS
        assert sorted(SelectedPairs(opened.pairs).pairs()) == sorted(VALUES.items())


@pytest.mark.parametrize("place", ["apiext", "apiext.dev"])
async def test_no_backup_of_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Refuse a store whose restoration has not ended, and a backup of one: both have a part of the objects only."""
    await fill(tmp_path / "data", VALUES | {f"{place}/restore": b"{}"})
    with pytest.raises(BackupError, match="unfinished restoration"):
        await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "b")
    assert {path.name for path in _entries(tmp_path)} == {"data"}
    with monkeypatch.context() as patched:
        patched.setattr("apiext.tools.backup.creation.check_finished", lambda _: None)
        await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "b")
    with pytest.raises(BackupError, match="unfinished restoration"), open_backup(tmp_path / "b"):
        pass


async def test_killed_backups_take_no_room(tmp_path: Path) -> None:
    """Delete what killed backups have left beside the new one, also if that fails; not the folder of one that may still run."""
    left, running, other = (
        tmp_path / name for name in (".apiext-20260101T000000Z.tar.gz.ab_1", ".apiext-20260102T000000Z.tar.gz.x", ".own")
    )
    for folder in (left, running, other):
        _old_folder(folder)
    os.utime(running)
    with pytest.raises(BackupError, match="there is no store"):
        await back_up_store(whole(embedded(tmp_path / "missing")), tmp_path / "b")

    assert {path.name for path in _entries(tmp_path)} == {running.name, other.name}


def test_names_and_old_backups(tmp_path: Path) -> None:
    """Name backups in a folder after the time, never replace one silently, and delete all but the newest and the one just made."""
    for day in range(1, 5):
        (tmp_path / f"apiext-2026010{day}T000000Z.tar.gz").touch()
    (tmp_path / "own.tar.gz").touch()

    assert target_file(tmp_path, force=False).name.startswith("apiext-20")
    with pytest.raises(BackupError, match="--force"):
        target_file(tmp_path / "own.tar.gz", force=False)
    assert target_file(tmp_path / "own.tar.gz", force=True) == tmp_path / "own.tar.gz"
    with pytest.raises(BackupError, match="is no folder"):
        target_file(tmp_path / "missing" / "x", force=False)
    first, last = (tmp_path / f"apiext-2026010{day}T000000Z.tar.gz" for day in (1, 4))
    assert [path.name for path in delete_older(tmp_path, 2, last)] == [f"apiext-2026010{day}T000000Z.tar.gz" for day in (1, 2)]
    assert len(_entries(tmp_path)) == 3
    first.touch()
    assert [path.name for path in delete_older(tmp_path, 1, first)] == ["apiext-20260103T000000Z.tar.gz"]
    assert first.exists()


def _old_folder(path: Path) -> None:
    path.mkdir()
    (path / "archive").touch()
    os.utime(path, (0, 0))


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())
