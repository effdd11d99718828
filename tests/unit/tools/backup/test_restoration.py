"""Restorations into embedded stores."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from apiext.server.composition.storage_backend import open_backend
from apiext.storage.backend import CompactedError
from apiext.storage.backups import sqlite_target
from apiext.storage.backups.stored_pairs import BackupError
from apiext.storage.backups.stores import RestoredStore
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.tools.backup.archive_reader import open_backup
from apiext.tools.backup.creation import back_up_store
from apiext.tools.backup.restoration import restore_store
from tests.unit.tools.backup.stores import ENCRYPTED, VALUES, content, embedded, fill, whole

NOW = 1_800_000_000.0


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    """Return a backup of a small store."""
    await fill(tmp_path / "data")
    path = tmp_path / "backup.tar.gz"
    await back_up_store(whole(embedded(tmp_path / "data")), path)
    return path


async def restored(archive: Path, folder: Path, *, replace: bool = False, groups: tuple[str, ...] = (), now: float = NOW) -> RestoredStore:
    """Restore a backup as the store in a folder."""
    with open_backup(archive) as opened:
        return await restore_store(opened, whole(embedded(folder)), groups, replace=replace, now=now)


async def revision_of(folder: Path) -> int:
    """Return the revision that clients of a store see."""
    backend = await open_backend(embedded(folder))
    try:
        return await backend.revision()
    finally:
        await backend.close()


async def test_everything_comes_back(archive: Path, tmp_path: Path) -> None:
    """Restore all values as bytes, readable or not, into a file that only its owner can read."""
    done = await restored(archive, tmp_path / "new")

    assert done.count == len(VALUES)
    assert await content(tmp_path / "new") == VALUES
    assert (tmp_path / "new" / "apiext.db").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in (tmp_path / "new").iterdir()} <= {"apiext.db", "apiext.db.lock"}


async def test_revisions_do_not_go_back(archive: Path, tmp_path: Path) -> None:
    """Begin each restoration above all earlier revisions, and answer those with Compacted; also if the lost store was itself restored."""
    await restored(archive, tmp_path / "first")
    first = await open_backend(embedded(tmp_path / "first"))
    seen = (await first.create("/registry/x", b"1")).revision
    with pytest.raises(CompactedError):
        await first.list("/registry/", revision=len(VALUES) + 1)
    await first.close()
    await restored(archive, tmp_path / "second", now=NOW + 1)
    await restored(archive, tmp_path / "first", replace=True, now=0.0)

    assert seen > NOW * 1_000_000
    assert await revision_of(tmp_path / "second") > seen
    assert await revision_of(tmp_path / "first") > seen


async def test_a_store_is_not_replaced_silently(archive: Path, tmp_path: Path) -> None:
    """Refuse to replace a store, unless told; then keep it under another name. Never replace one that a server uses."""
    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})
    with pytest.raises(BackupError, match="--replace"):
        await restored(archive, tmp_path / "old")
    server = await SQLiteBackend.open(tmp_path / "old" / "apiext.db")
    with pytest.raises(BackupError, match="in use by another process"):
        await restored(archive, tmp_path / "old", replace=True)
    await server.close()
    assert await content(tmp_path / "old") == {"example.com/widgets/x": b"old"}
    done = await restored(archive, tmp_path / "old", replace=True)

    assert await content(tmp_path / "old") == VALUES
    assert done.replaced is not None
    kept = sqlite3.connect(done.replaced)
    assert kept.execute("SELECT value FROM log").fetchall() == [(b"old",)]
    kept.close()


async def test_a_refused_restoration_leaves_the_log_of_a_crash(archive: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Leave a store whose server crashed as it is: its next start finds all writes in the log, and takes none for lost."""
    server = await SQLiteBackend.open(tmp_path / "old" / "apiext.db")
    written = await server.create("/registry/example.com/widgets/x", b"old")
    shutil.copytree(tmp_path / "old", tmp_path / "crashed")
    await server.close()
    with pytest.raises(BackupError, match="--replace"):
        await restored(archive, tmp_path / "crashed")

    assert await revision_of(tmp_path / "crashed") == written.revision
    assert await content(tmp_path / "crashed") == {"example.com/widgets/x": b"old"}
    assert "write-ahead log missing" not in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root restores for another user")
async def test_a_store_of_another_user(archive: Path, tmp_path: Path) -> None:
    """Give a store that root restores to the owner of the folder or of the replaced store, who runs the server."""
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, 65534, 65534)
    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})
    os.chown(tmp_path / "old" / "apiext.db", 65533, 65533)
    for name, owner in (("new", 65534), ("old", 65533)):
        await restored(archive, tmp_path / name, replace=True)

        found = [(tmp_path / name / file).stat() for file in ("apiext.db", "apiext.db.lock")]
        assert [(one.st_uid, one.st_gid, one.st_mode & 0o777) for one in found] == [(owner, owner, 0o600)] * 2


async def test_every_replaced_store_is_kept(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each previous store under a name of its own, also those of one second."""
    monkeypatch.setattr("apiext.base.meta.time.now", lambda: "2026-01-01T00:00:00Z")
    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})
    kept = [(await restored(archive, tmp_path / "old", replace=True)).replaced for _ in range(3)]

    names = ["apiext.db.replaced-2026-01-01T000000Z", "apiext.db.replaced-2026-01-01T000000Z-2", "apiext.db.replaced-2026-01-01T000000Z-3"]
    assert [path.name for path in kept if path is not None] == names
    assert all((tmp_path / "old" / name).exists() for name in names)


async def test_a_store_that_cannot_be_kept_stays(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a store and its log as they are if the file system does not give it another name."""

    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})
    store = tmp_path / "old" / "apiext.db"
    store.write_bytes(b"damaged" * 1000)
    store.with_name("apiext.db-wal").write_bytes(b"log")
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(BackupError, match="Operation not permitted"):
        await restored(archive, tmp_path / "old", replace=True)

    assert store.read_bytes().startswith(b"damaged")
    assert store.with_name("apiext.db-wal").read_bytes() == b"log"


async def test_a_damaged_store_is_set_aside_with_its_log(archive: Path, tmp_path: Path) -> None:
    """Replace a store that cannot be read; its log must not be applied to the new file."""
    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})
    store = tmp_path / "old" / "apiext.db"
    store.write_bytes(b"damaged" * 1000)
    store.with_name("apiext.db-wal").write_bytes(b"log")
    done = await restored(archive, tmp_path / "old", replace=True)

    assert await content(tmp_path / "old") == VALUES
    assert done.replaced is not None
    assert done.replaced.read_bytes().startswith(b"damaged")
    assert done.replaced.with_name(f"{done.replaced.name}-wal").read_bytes() == b"log"


async def test_an_interrupted_restoration_changes_nothing(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the old store in place wherever a restoration ends early, and succeed when it is repeated."""
    await fill(tmp_path / "old", {"example.com/widgets/x": b"old"})

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_target, "sync", cut)
        with pytest.raises(KeyboardInterrupt):
            await restored(archive, tmp_path / "old", replace=True)
    assert not (tmp_path / "old" / "apiext.db.restored").exists()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", cut)
        with pytest.raises(KeyboardInterrupt):
            await restored(archive, tmp_path / "old", replace=True)
    assert await content(tmp_path / "old") == {"example.com/widgets/x": b"old"}
    await restored(archive, tmp_path / "old", replace=True)

    assert await content(tmp_path / "old") == VALUES


async def test_one_group(archive: Path, tmp_path: Path) -> None:
    """Restore the definitions of one group with their objects; refuse a group that the backup lacks."""
    await restored(archive, tmp_path / "new", groups=("other.io",))

    assert sorted(await content(tmp_path / "new")) == [
        "apiextensions.k8s.io/customresourcedefinitions/gadgets.other.io",
        "other.io/gadgets/x",
    ]
    with pytest.raises(BackupError, match=r"nothing of missing\.io"):
        await restored(archive, tmp_path / "other", groups=("missing.io",))
    assert not (tmp_path / "other").exists()


async def test_encrypted_values_keep_their_prefix(tmp_path: Path) -> None:
    """Refuse to move encrypted values below another prefix, where they could not be decrypted, before anything is written."""
    await fill(tmp_path / "data", {"secrets/default/s": ENCRYPTED})
    await back_up_store(whole(embedded(tmp_path / "data")), tmp_path / "b")
    with open_backup(tmp_path / "b") as opened:
        with pytest.raises(BackupError, match="encrypted"):
            await restore_store(opened, whole(embedded(tmp_path / "new", prefix="/other")), now=NOW)
        assert not (tmp_path / "new").exists()
        await restore_store(opened, whole(embedded(tmp_path / "new")), now=NOW)

    assert await content(tmp_path / "new") == {"secrets/default/s": ENCRYPTED}


async def test_another_prefix(archive: Path, tmp_path: Path) -> None:
    """Restore below another prefix."""
    with open_backup(archive) as opened:
        await restore_store(opened, whole(embedded(tmp_path / "new", prefix="/elsewhere/x")), now=NOW)

    assert await content(tmp_path / "new", "/elsewhere/x") == VALUES
