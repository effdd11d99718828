"""What only the embedded backend has: its file, its lock, and what a killed process leaves."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from apiext.storage.backend import BackendError, CompactedError
from apiext.storage.sqlite import watch_broadcast
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.errors import StoreFileError, StoreLockedError
from tests.contract import sqlite_writer
from tests.contract.sqlite_files import PREFIX, opened
from tests.contract.watching import collect, first, watching, write


async def test_a_new_store_begins_like_etcd(path: Path) -> None:
    """An empty store is at revision 1, and its first write at 2."""
    async with opened(path) as backend:
        assert await backend.revision() == 1
        assert (await backend.list(PREFIX)).revision == 1
        assert (await backend.create(PREFIX + "a", b"")).revision == 2


async def test_opening_is_quick(path: Path) -> None:
    """A new store is there within 50 ms of work (the best of three); a busy machine or disk may take its time on top of that."""
    took = []
    for n in range(3):
        began = time.process_time()
        async with opened(path.with_name(f"{n}.db")):
            took.append(time.process_time() - began)
    assert min(took) < 0.05


async def test_the_file_is_private(path: Path) -> None:
    """Nobody else may read what the API holds."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"")
        assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}


async def test_reopen(path: Path) -> None:
    """Values, revisions, the log and what was compacted are as they were; revisions go on."""
    async with opened(path) as backend:
        created = await backend.create(PREFIX + "a", b"1")
        updated = await backend.update(PREFIX + "a", b"2", expected=created.revision)
        await backend.compact(created.revision)
        removed = await backend.create(PREFIX + "b", b"1")
        removed = await backend.delete(PREFIX + "b", expected=removed.revision)
    async with opened(path) as backend:
        assert await backend.revision() == removed.revision
        assert (await backend.list(PREFIX, revision=created.revision)).items[0].value == b"1"
        with pytest.raises(CompactedError):
            await backend.list(PREFIX, revision=created.revision - 1)
        async with watching(backend, PREFIX, start=updated.revision) as batches:
            events = await collect(batches, lambda events: len(events) == 3)
        assert [event.value for event in events] == [b"2", b"1", None]
        assert (await backend.create(PREFIX + "c", b"")).revision == removed.revision + 1


async def test_close_does_what_was_asked_before(path: Path) -> None:
    """Writes that were asked for before close are done, and found when the store is opened again."""
    async with opened(path) as backend:
        writes = [asyncio.ensure_future(backend.create(f"{PREFIX}{n:03}", b"")) for n in range(300)]
        await asyncio.sleep(0)
    assert all(result.succeeded for result in await asyncio.gather(*writes))
    async with opened(path) as backend:
        assert await backend.count(PREFIX) == 300


async def test_a_second_opener_is_refused(path: Path) -> None:
    """While one has the store open, another is refused in one line that names file and process; afterwards not."""
    async with opened(path):
        with pytest.raises(StoreLockedError, match=rf"store\.db is in use by another process \(process {os.getpid()}\)$"):
            await SQLiteBackend.open(path)
    async with opened(path):
        pass


async def test_another_process_is_refused(path: Path) -> None:
    """The lock holds between processes, and ends with the process, however it ends."""
    process = await start_writer(path)
    assert process.stdout is not None
    await process.stdout.readline()
    with pytest.raises(StoreLockedError):
        await SQLiteBackend.open(path)
    process.kill()
    await process.communicate()
    async with opened(path):
        pass


@pytest.mark.parametrize("lines", [1, 100, 700, 2000])
async def test_kill_loses_nothing_acknowledged(path: Path, lines: int) -> None:
    """Whenever a writing process is killed, everything that it was told was written is there when the store is opened again."""
    process = await start_writer(path)
    assert process.stdout is not None
    output = b"".join([await process.stdout.readline() for _ in range(lines)])
    process.send_signal(signal.SIGKILL)
    rest, _ = await process.communicate()
    acknowledged = [line.split(" ") for line in (output + rest).decode().splitlines()]
    async with opened(path) as backend:
        for key, revision, value in acknowledged:
            items = (await backend.list(key, revision=int(revision), limit=1)).items
            found = [(item.value.decode(), item.revision) for item in items if item.key == key]
            assert found == ([] if value == "-" else [(value, int(revision))])


async def start_writer(path: Path) -> asyncio.subprocess.Process:
    """Start a process that writes and tells."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", sqlite_writer.__name__, str(path), stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )


def place(path: Path, content: bytes) -> None:
    """Have a file there, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def size(path: Path) -> int:
    """Bytes in a file."""
    return path.stat().st_size


def content_of(path: Path) -> bytes:
    """What is in a file."""
    return path.read_bytes()


def foreign(path: Path, *statements: str) -> None:
    """Make an SQLite database that is not ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


async def test_a_file_of_another_kind(path: Path) -> None:
    """A file that is no database is refused and left as it is."""
    place(path, b"apiVersion: v1\n" * 1000)
    with pytest.raises(StoreFileError, match=r"store\.db is not a store: it is not an SQLite database$"):
        await SQLiteBackend.open(path)
    assert content_of(path) == b"apiVersion: v1\n" * 1000


async def test_a_database_of_another_program(path: Path) -> None:
    """Another program's database is refused and left as it is."""
    foreign(path, "CREATE TABLE things (name TEXT)")
    before = content_of(path)
    with pytest.raises(StoreFileError, match=r"store\.db is not a store: it is another program's SQLite database$"):
        await SQLiteBackend.open(path)
    assert content_of(path) == before


async def test_a_store_of_another_format(path: Path) -> None:
    """A store of a later format is refused with both formats' numbers."""
    async with opened(path):
        pass
    foreign(path, "PRAGMA user_version = 9")
    with pytest.raises(StoreFileError, match=r"store\.db has format 9; this version of apiext reads format 1$"):
        await SQLiteBackend.open(path)


async def test_a_damaged_store(path: Path) -> None:
    """Damaged pages are found when the store is opened, and told in one line."""
    async with opened(path) as backend:
        await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"x" * 500) for n in range(200)))
    with path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xa5" * 4096 * 4)
    with pytest.raises(StoreFileError, match=r"store\.db is damaged: ") as caught:
        await SQLiteBackend.open(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_what_an_interrupted_start_may_leave(path: Path, content: bytes) -> None:
    """An empty file becomes a store; half a header is refused."""
    place(path, content)
    if content:
        with pytest.raises(StoreFileError, match=r"store\.db can(not be used|not be opened): |is damaged"):
            await SQLiteBackend.open(path)
    else:
        async with opened(path) as backend:
            assert await backend.revision() == 1


async def test_a_folder_in_its_place(path: Path) -> None:
    """A folder where the file should be, and a file where its folder should be, are told in one line."""
    place(path / "file", b"")
    with pytest.raises(StoreFileError, match=r"store\.db cannot be opened: Is a directory$"):
        await SQLiteBackend.open(path)
    with pytest.raises(StoreFileError, match=r"cannot be opened: (Not a directory|File exists)$"):
        await SQLiteBackend.open(path / "file" / "store.db")


async def test_a_failed_open_leaves_no_lock(path: Path) -> None:
    """What was wrong can be put right without ending the process."""
    place(path, b"something else")
    with pytest.raises(StoreFileError):
        await SQLiteBackend.open(path)
    place(path, b"")
    async with opened(path):
        pass


async def test_a_slow_watch_falls_back_to_the_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that nobody reads buffers no more than its bound, and tells everything in order once it is read."""
    monkeypatch.setattr(watch_broadcast, "_BUFFER", 50)
    async with opened(path) as backend, watching(backend, PREFIX) as batches:
        await first(batches)
        results = await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"") for n in range(1000)))
        (subscription,) = backend._broadcaster._subscriptions
        assert len(subscription._events) <= 50 + 128
        events = await collect(batches, lambda events: len(events) == 1000)
        assert [event.revision for event in events] == sorted(result.revision for result in results)
        last = await backend.create(PREFIX + "last", b"")
        assert (await first(batches)).revision == last.revision


async def test_too_slow_a_watch_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch whose missing changes have been compacted ends with CompactedError."""
    monkeypatch.setattr(watch_broadcast, "_BUFFER", 5)
    async with opened(path) as backend, watching(backend, PREFIX) as batches:
        await first(batches)
        await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"") for n in range(20)))
        await backend.compact(await backend.revision())
        with pytest.raises(CompactedError):
            await first(batches)


async def test_progress_comes_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that nothing happens for is told the revision now and then."""
    monkeypatch.setattr(watch_broadcast, "_PROGRESS_INTERVAL", 0.01)
    async with opened(path) as backend, watching(backend, PREFIX + "in/") as batches:
        await first(batches)
        beside = await backend.create(PREFIX + "a", b"")
        batch = await first(batches)
        assert (list(batch.events), batch.revision) == ([], beside.revision)


async def test_compaction_frees_the_file(path: Path) -> None:
    """What is compacted leaves the file: a key that is written again and again does not make it grow."""
    async with opened(path) as backend:
        result = await backend.create(PREFIX + "a", b"x" * 20_000)
        for _ in range(5):
            for _ in range(40):
                result = await backend.update(PREFIX + "a", b"x" * 20_000, expected=result.revision)
            await backend.compact(result.revision)
        (rows,) = backend._reads._reader.execute("SELECT COUNT(*) FROM log").fetchone()
        assert rows == 1
    assert size(path) < 60 * 20_000


async def test_an_interrupted_compaction_is_finished_by_the_next(path: Path) -> None:
    """Rows that a compaction could not remove any more are removed by the one after it."""
    async with opened(path) as backend:
        result = await write(backend, PREFIX + "a", *(b"%d" % n for n in range(300)))
        compacting = asyncio.ensure_future(backend.compact(result.revision))
        while not backend._reads.compacted:  # noqa: ASYNC110 -- there is no event for it
            await asyncio.sleep(0)
        compacting.cancel()
    async with opened(path) as backend:
        last = await backend.update(PREFIX + "a", b"last", expected=result.revision)
        await backend.compact(last.revision)
        (rows,) = backend._reads._reader.execute("SELECT COUNT(*) FROM log").fetchone()
        assert rows == 1


async def test_compaction_by_age(path: Path) -> None:
    """Each call forgets what was old at the call before."""
    async with opened(path) as backend:
        created = await backend.create(PREFIX + "a", b"1")
        await backend.compact_aged()
        updated = await backend.update(PREFIX + "a", b"2", expected=created.revision)
        await backend.compact_aged()
        assert (await backend.list(PREFIX, revision=created.revision)).items[0].value == b"1"
        await backend.compact_aged()
        with pytest.raises(CompactedError):
            await backend.list(PREFIX, revision=created.revision)
        assert (await backend.list(PREFIX, revision=updated.revision)).items[0].value == b"2"


async def test_a_cancelled_count(path: Path) -> None:
    """Giving up a list while its keys are being counted harms no later one."""
    async with opened(path) as backend:
        await asyncio.gather(*(backend.create(f"{PREFIX}{n:04}", b"") for n in range(2000)))
        await backend.create(PREFIX + "z", b"")
        listing = asyncio.ensure_future(backend.list(PREFIX, revision=await backend.revision() - 1, limit=3))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        listing.cancel()
        await asyncio.wait((listing,))
        page = await backend.list(PREFIX, revision=await backend.revision() - 1, limit=3)
        assert (len(page.items), page.count) == (3, 2000)


async def test_close_while_lists_are_read(path: Path) -> None:
    """Lists under way when the store is closed end, well or with an error of the backend's own kind."""
    async with opened(path) as backend:
        await asyncio.gather(*(backend.create(f"{PREFIX}{n:04}", b"") for n in range(1000)))
        lists = [asyncio.ensure_future(backend.list(PREFIX)) for _ in range(30)]
        await asyncio.sleep(0)
    for outcome in await asyncio.gather(*lists, return_exceptions=True):
        assert isinstance(outcome, BackendError) or (not isinstance(outcome, BaseException) and outcome.count == 1000)
