"""The SQLite backend over a file that is damaged, locked by other programs, or hangs while it is open."""

import asyncio
import contextlib
import resource
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from apiext.storage.backend import CompactedError, UnavailableError
from apiext.storage.sqlite import database_file, schema
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.database_file import StoreFile
from apiext.storage.sqlite.errors import StoreFileError, StoreLostError
from apiext.storage.sqlite.read_only import ReadOnlySQLite
from tests.contract.sqlite_files import PREFIX, opened
from tests.support.event_loop import advance, settle


class _Connection:
    """A connection to a file that may be damaged while it is open."""

    def __init__(self, whole: sqlite3.Connection) -> None:
        self._whole = whole
        self.is_damaged = False

    def execute(self, statement: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Raise SQLite's error for a damaged file."""
        if self.is_damaged:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return self._whole.execute(statement, parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


class _Slow(StoreFile):
    """A file whose disk hangs while `awake` is not set."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.awake = threading.Event()
        self.awake.set()

    def verify(self) -> None:
        """Wait for the disk."""
        self.awake.wait()
        super().verify()


async def test_fails_writes_to_a_damaged_file(tmp_path: Path) -> None:
    """Fail all writes with the reason when a transaction can not begin."""
    file = StoreFile(tmp_path / "store.db")
    file.writer = cast("sqlite3.Connection", connection := _Connection(file.writer))
    backend = SQLiteBackend(file, deadline=10)
    await backend.create(PREFIX + "a", b"1")
    connection.is_damaged = True
    for name in "bc":
        async with asyncio.timeout(30):
            with pytest.raises(UnavailableError, match="malformed"):
                await backend.create(PREFIX + name, b"")
    connection.is_damaged = False
    assert (await backend.create(PREFIX + "d", b"")).succeeded
    await backend.close()


async def test_waits_for_another_program(path: Path) -> None:
    """Delay writes while another program holds a write lock, and commit them afterwards."""
    async with opened(path) as backend:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "ab"]
            await asyncio.wait(writing, timeout=0.05)
            assert not any(write.done() for write in writing)
            other.execute("ROLLBACK")
            assert all(result.succeeded for result in await asyncio.gather(*writing))


async def test_fails_writes_when_the_lock_stays(path: Path) -> None:
    """Fail writes without effect when another program's lock outlasts the deadline, and commit later ones."""
    async with opened(path) as backend:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = asyncio.ensure_future(backend.create(PREFIX + "a", b""))
            await settle()
            advance(11)
            with pytest.raises(UnavailableError):
                await writing
            other.execute("ROLLBACK")
        assert (await backend.create(PREFIX + "b", b"")).succeeded
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "b"]


async def test_fails_writes_when_the_disk_hangs(path: Path) -> None:
    """Fail the writes of a commit that outlasts the deadline and those queued behind it; answer reads."""
    file = _Slow(path)
    async with opened(path, file=file) as backend:
        await backend.create(PREFIX + "a", b"1")
        file.awake.clear()
        writes = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "bc"]
        await settle()
        writes.append(asyncio.ensure_future(backend.create(PREFIX + "d", b"")))
        await settle()
        advance(11)
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 3
        told = [str(outcome).rpartition("; ")[2] for outcome in outcomes]
        assert told == [*["the outcome of the write is unknown: it may be stored"] * 2, "nothing was written"]
        assert (await backend.get(PREFIX + "a"))[0] is not None
        file.awake.set()
        async with asyncio.timeout(30):
            assert (await backend.create(PREFIX + "e", b"")).succeeded
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + name for name in "abce"]


async def test_fails_writes_when_the_disk_is_full(path: Path) -> None:
    """Fail writes without effect while the disk is full, answer reads, and commit writes when there is space."""
    file = StoreFile(path)
    async with opened(path, file=file) as backend:
        await backend.create(PREFIX + "a", b"1")
        before = await backend.revision()
        (pages,) = file.writer.execute("PRAGMA page_count").fetchone()
        file.writer.execute(f"PRAGMA max_page_count = {pages + 2}")
        outcomes = await asyncio.gather(
            backend.create(PREFIX + "b", b"1"), backend.create(PREFIX + "c", b"x" * 100_000), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 2
        assert "full" in str(outcomes[1])
        assert await backend.revision() == before
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a"]
        file.writer.execute("PRAGMA max_page_count = 1000000")
        assert (await backend.create(PREFIX + "c", b"x" * 100_000)).revision == before + 1


async def test_readiness_follows_writes(path: Path) -> None:
    """Report that writes fail, with the reason, from the first failed write until the file takes writes again."""
    file = StoreFile(path)
    async with opened(path, file=file) as backend:
        await backend.create(PREFIX + "a", b"1")
        await backend.writable()
        file.writer.execute("PRAGMA query_only = ON")
        await backend.writable()
        with pytest.raises(UnavailableError, match="readonly"):
            await backend.create(PREFIX + "b", b"1")
        with pytest.raises(UnavailableError, match="readonly"):
            await backend.writable()
        await backend.healthy()
        assert (await backend.get(PREFIX + "a"))[0] is not None
        file.writer.execute("PRAGMA query_only = OFF")
        await backend.writable()
        assert (await backend.create(PREFIX + "b", b"1")).succeeded
        assert _deleted_up_to(path) == 0


async def test_a_file_system_that_refuses_growth(path: Path) -> None:
    """Fail writes and readiness while the file system refuses a larger file; keep what was acknowledged, also after a restart."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        log = path.with_name(f"{path.name}-wal")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (_size(log), hard))
        try:
            with pytest.raises(UnavailableError, match="the store's file"):
                await backend.create(PREFIX + "b", b"1")
            with pytest.raises(UnavailableError, match="the store's file"):
                await backend.writable()
            assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a"]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await backend.writable()
        assert (await backend.create(PREFIX + "c", b"1")).succeeded
    async with opened(path) as backend:
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a", PREFIX + "c"]


async def test_a_damaged_page(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail reads of what is damaged with the reason, and answer others; a file that is checked at the start is refused with a remedy."""
    async with opened(path) as backend:
        for name in "abc":
            await backend.create(PREFIX + name, name.encode() * 20_000)
    _damage(path, b"b" * 4000)
    with pytest.raises(StoreFileError, match=r"damaged.*apiext restore"):
        await SQLiteBackend.open(path)
    monkeypatch.setattr(database_file, "MAX_CHECKED_BYTES", 0)
    async with opened(path) as backend:
        for read in (backend.get(PREFIX + "b"), backend.list(PREFIX)):
            with pytest.raises(UnavailableError, match="malformed"):
                await read
        for name in "ac":
            found, _ = await backend.get(PREFIX + name)
            assert found is not None
            assert found.value == name.encode() * 20_000
        assert (await backend.create(PREFIX + "d", b"1")).succeeded


@pytest.mark.parametrize("page", [1, 4], ids=["log", "compaction"])
async def test_a_damaged_page_that_the_start_needs(path: Path, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    """Refuse a file with the reason and a remedy, each time, if a page is damaged without which no store can start."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
    _spoil(path, page)
    monkeypatch.setattr(database_file, "MAX_CHECKED_BYTES", 0)
    for _ in range(2):
        with pytest.raises(StoreFileError, match=r"store\.db cannot be used: .*malformed; restore a backup"):
            await SQLiteBackend.open(path)


async def test_a_lock_that_cannot_be_written(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Say why the lock cannot be taken, and release it; still know afterwards that the last server crashed."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        crashed = path.parent / "crashed" / path.name
        _copy_without_log(path, crashed)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        for store in (crashed, path.with_name("new.db")):
            with pytest.raises(StoreFileError, match=r"cannot be opened: \w+\.db\.lock: File too large"):
                await SQLiteBackend.open(store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    async with opened(crashed), opened(path.with_name("new.db")):
        pass

    assert "write-ahead log missing" in caplog.text


async def test_a_log_that_is_deleted_while_open(path: Path) -> None:
    """Acknowledge no write that a restart would lose; keep every acknowledged one."""
    async with opened(path) as backend:
        for name in "abc":
            await backend.create(PREFIX + name, b"1")
        _unlink(path.with_name(f"{path.name}-wal"))
        for _ in range(2):
            with pytest.raises(StoreLostError, match="restart the server"):
                await backend.create(PREFIX + "d", b"1")
        with pytest.raises(UnavailableError, match="-wal was deleted"):
            await backend.writable()
        assert (await backend.get(PREFIX + "a"))[0] is not None
        copy = path.with_name("killed.db")
        shutil.copyfile(path, copy)
    async with opened(copy) as backend:
        assert {PREFIX + name for name in "abc"} <= {item.key for item in (await backend.list(PREFIX)).items}


async def test_reads_and_watches_agree_on_a_lost_file(path: Path) -> None:
    """Report a commit to watches that reads show, although it is not acknowledged: a reader that waits for it must not wait for ever."""
    async with opened(path) as backend, contextlib.aclosing(backend.watch(PREFIX)) as batches:
        await anext(batches)
        _put_another_in_place(path)
        with pytest.raises(StoreLostError):
            await backend.create(PREFIX + "a", b"1")
        assert (await backend.get(PREFIX + "a"))[0] is not None
        async with asyncio.timeout(30):
            batch = await anext(batches)
        assert [event.key for event in batch.events] == [PREFIX + "a"]
        assert batch.revision == backend.known_revision()


async def test_a_folder_that_cannot_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Acknowledge what is on the disk if the file cannot be looked up, and write on afterwards."""

    def refuse(_path: Path, **_: object) -> None:
        raise PermissionError

    async with opened(path) as backend:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "stat", refuse)
            first = await backend.create(PREFIX + "a", b"1")
        second = await backend.create(PREFIX + "b", b"1")

        assert first.succeeded
        assert second.revision == first.revision + 1


async def test_a_file_that_is_replaced_while_open(path: Path) -> None:
    """Refuse writes once the file has another one's place."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        _put_another_in_place(path)
        outcomes = []
        for name in "bc":
            with pytest.raises(StoreLostError, match="replaced") as refused:
                await backend.create(PREFIX + name, b"1")
            outcomes.append(str(refused.value).rpartition("; ")[2])
        assert outcomes == ["the outcome of the write is unknown: it may be stored", "nothing was written"]
        assert (await backend.get(PREFIX + "a"))[0] is not None
    async with opened(path.with_name("moved.db")) as backend:
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a", PREFIX + "b"]


@pytest.mark.parametrize("is_replaced", [False, True], ids=["deleted", "replaced"])
async def test_reads_of_a_lost_file_do_not_touch_another(path: Path, *, is_replaced: bool) -> None:
    """Go on with the connections that are open, and refuse further ones: neither read nor change another file of the name."""
    other = path.with_name("other.db")
    async with opened(other) as backend:
        await backend.create(PREFIX + "foreign", b"1")
    data = _bytes(other)
    async with opened(path) as backend:
        # more than a list reads at once: simultaneous ones need a connection each
        await asyncio.gather(*(backend.create(f"{PREFIX}{number:03}", b"1") for number in range(150)))
        expected = (await backend.list(PREFIX)).items
        if is_replaced:
            other.rename(path)
        else:
            _unlink(path)
        outcomes = await asyncio.gather(*(backend.list(PREFIX) for _ in range(3)), return_exceptions=True)
        again = await backend.list(PREFIX)

    found = [outcome.items for outcome in outcomes if not isinstance(outcome, BaseException)]
    refused = [str(outcome) for outcome in outcomes if isinstance(outcome, StoreLostError)]
    assert again.items == expected
    assert found == [expected]
    assert len(refused) == 2
    assert all("was deleted or replaced" in text for text in refused)
    assert _bytes(path) == (data if is_replaced else b"")


@pytest.mark.parametrize("is_read", [False, True], ids=["", "read-meanwhile"])
async def test_a_log_that_is_lost_after_a_crash(path: Path, caplog: pytest.LogCaptureFixture, *, is_read: bool) -> None:
    """Begin above the revisions that the lost log may have had, so that clients list again; not after an ordinary end.

    A command that reads the store before the next start, and leaves an empty log, changes nothing.
    """
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
    async with opened(path) as backend:
        assert await backend.revision() == 2
        await backend.create(PREFIX + "b", b"1")
        crashed = path.parent / "crashed" / path.name
        _copy_without_log(path, crashed)
    if is_read:
        reader = await ReadOnlySQLite.open(crashed)
        assert [item.key for item in (await reader.list(PREFIX)).items] == [PREFIX + "a"]
        await reader.close()
    async with opened(crashed) as backend:
        revision = await backend.revision()
        with pytest.raises(CompactedError):
            await backend.list(PREFIX, revision=3)
        created = await backend.create(PREFIX + "c", b"1")
        await backend.compact(created.revision)
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a", PREFIX + "c"]

    assert revision > 10**9
    assert created.revision == revision + 1
    assert "write-ahead log missing" in caplog.text


@pytest.mark.parametrize("damaged", ["c", "e"])
async def test_a_log_that_is_damaged_after_a_crash(path: Path, caplog: pytest.LogCaptureFixture, damaged: str) -> None:
    """Begin above the revisions after the damage, where SQLite stops to read; a torn last transaction was not acknowledged."""
    async with opened(path) as backend:
        for name in "abcde":
            await backend.create(PREFIX + name, name.encode() * 5000)
        last = await backend.revision()
        crashed = path.parent / "crashed" / path.name
        _copy_without_log(path, crashed)
        log = _bytes(path.with_name(f"{path.name}-wal"))
    at = log.index(damaged.encode() * 3000)
    crashed.with_name(f"{path.name}-wal").write_bytes(log[:at] + b"x" + log[at + 1 :])
    async with opened(crashed) as backend:
        found = [item.key for item in (await backend.list(PREFIX)).items]
        revision = await backend.revision()

    assert found == [PREFIX + name for name in "abcde"[: "abcde".index(damaged)]]
    assert ("write-ahead log damaged" in caplog.text) == (damaged == "c")
    assert revision > 10**9 if damaged == "c" else revision == last - 1


async def test_a_crash_before_the_first_write(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Do not take the log of a server that has written nothing for a lost one."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
    async with opened(path):
        crashed = path.parent / "crashed" / path.name
        _copy_without_log(path, crashed)
        shutil.copyfile(f"{path}-wal", f"{crashed}-wal")
    async with opened(crashed) as backend:
        assert await backend.revision() == 2
        assert _deleted_up_to(path) == 0

    assert "write-ahead log missing" not in caplog.text


def _deleted_up_to(path: Path) -> int:
    """Return the revision up to which compaction has deleted rows."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(schema.DELETED_UP_TO).fetchone()[0])


def _size(path: Path) -> int:
    return path.stat().st_size


def _bytes(path: Path) -> bytes:
    """Return the content of a file, nothing if it is missing."""
    return path.read_bytes() if path.exists() else b""


def _unlink(path: Path) -> None:
    path.unlink()


def _put_another_in_place(path: Path) -> None:
    path.rename(path.with_name("moved.db"))
    path.write_bytes(b"")


def _damage(path: Path, value: bytes) -> None:
    """Damage the first page of a chain of pages that holds a value: it begins with the number of the next one."""
    data = bytearray(path.read_bytes())
    at = data.index(value) // 4096 * 4096
    data[at : at + 4] = b"\xff\xff\xff\xf0"
    path.write_bytes(data)


def _spoil(path: Path, page: int) -> None:
    data = bytearray(path.read_bytes())
    data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)


def _copy_without_log(store: Path, to: Path) -> None:
    to.parent.mkdir()
    for suffix in ("", ".lock"):
        shutil.copyfile(f"{store}{suffix}", f"{to}{suffix}")
