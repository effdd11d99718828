"""Tests of the SQLite backend alone: its file, its lock, and recovery after a kill."""

import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from apiext.storage.backend import BackendError, BackendEvent, CompactedError, KeyValue, ValueTooLargeError
from apiext.storage.etcd import messages
from apiext.storage.etcd.aetcd_messages import rpc
from apiext.storage.sqlite import watch as sqlite_watch
from apiext.storage.sqlite import writer as conditional_write
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.errors import StoreFileError, StoreLockedError
from tests.contract import sqlite_writer
from tests.contract.sqlite_files import PREFIX, opened
from tests.contract.watching import collect, first, watching, write


async def test_starts_at_revision_1(path: Path) -> None:
    """Start an empty store at revision 1 and its first write at 2, like etcd."""
    async with opened(path) as backend:
        assert await backend.revision() == 1
        assert (await backend.list(PREFIX)).revision == 1
        assert (await backend.create(PREFIX + "a", b"")).revision == 2


async def test_creates_private_files(path: Path) -> None:
    """Create files that other users can not read."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"")
        assert {file.stat().st_mode & 0o077 for file in path.parent.iterdir()} == {0}


async def test_reopens_the_same_state(path: Path) -> None:
    """Keep values, revisions, the log and the compacted revision over a restart, and continue the revisions."""
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


async def test_close_commits_queued_writes(path: Path) -> None:
    """Commit the writes that were queued before close."""
    async with opened(path) as backend:
        writes = [asyncio.ensure_future(backend.create(f"{PREFIX}{n:03}", b"")) for n in range(300)]
        await asyncio.sleep(0)
    assert all(result.succeeded for result in await asyncio.gather(*writes))
    async with opened(path) as backend:
        assert await backend.count(PREFIX) == 300


async def test_rejects_a_second_opener(path: Path) -> None:
    """Reject a second opener with one line that names file and process, until the first one closes."""
    async with opened(path):
        with pytest.raises(StoreLockedError, match=rf"store\.db is in use by another process \(process {os.getpid()}\)$"):
            await SQLiteBackend.open(path)
    async with opened(path):
        pass


async def test_locks_between_processes(path: Path) -> None:
    """Reject another process until the owner ends in any way."""
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
async def test_keeps_acknowledged_writes_after_kill(path: Path, lines: int) -> None:
    """Keep every acknowledged write of a process that is killed at any time."""
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
    """Start a process that writes and prints."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", sqlite_writer.__name__, str(path), stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )


def write_file(path: Path, content: bytes) -> None:
    """Write a file and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def size(path: Path) -> int:
    """Return the size of a file in bytes."""
    return path.stat().st_size


def content_of(path: Path) -> bytes:
    """Return the content of a file."""
    return path.read_bytes()


def create_database(path: Path, *statements: str) -> None:
    """Create an SQLite database with the statements."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


async def test_rejects_a_file_of_another_kind(path: Path) -> None:
    """Reject a file that is no database and keep it unchanged."""
    write_file(path, b"apiVersion: v1\n" * 1000)
    with pytest.raises(StoreFileError, match=r"store\.db is not a store: it is not an SQLite database$"):
        await SQLiteBackend.open(path)
    assert content_of(path) == b"apiVersion: v1\n" * 1000


async def test_rejects_another_programs_database(path: Path) -> None:
    """Reject another program's database and keep it unchanged."""
    create_database(path, "CREATE TABLE things (name TEXT)")
    before = content_of(path)
    with pytest.raises(StoreFileError, match=r"store\.db is not a store: it is another program's SQLite database$"):
        await SQLiteBackend.open(path)
    assert content_of(path) == before


async def test_rejects_another_format(path: Path) -> None:
    """Reject a store of a later format with both format numbers."""
    async with opened(path):
        pass
    create_database(path, "PRAGMA user_version = 9")
    with pytest.raises(StoreFileError, match=r"store\.db has format 9; this version of apiext reads format 1$"):
        await SQLiteBackend.open(path)


async def test_rejects_a_damaged_store(path: Path) -> None:
    """Reject a store with damaged pages with one line."""
    async with opened(path) as backend:
        await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"x" * 500) for n in range(200)))
    with path.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xa5" * 4096 * 4)
    with pytest.raises(StoreFileError, match=r"store\.db is damaged: ") as caught:
        await SQLiteBackend.open(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"SQLite format 3\x00" + b"\xff" * 5000])
async def test_opens_after_an_interrupted_start(path: Path, content: bytes) -> None:
    """Turn an empty file into a store and reject half a header."""
    write_file(path, content)
    if content:
        with pytest.raises(StoreFileError, match=r"store\.db can(not be used|not be opened): |is damaged"):
            await SQLiteBackend.open(path)
    else:
        async with opened(path) as backend:
            assert await backend.revision() == 1


async def test_rejects_a_folder_as_the_file(path: Path) -> None:
    """Reject a folder in place of the file, and a file in place of its folder, with one line."""
    write_file(path / "file", b"")
    with pytest.raises(StoreFileError, match=r"store\.db cannot be opened: Is a directory$"):
        await SQLiteBackend.open(path)
    with pytest.raises(StoreFileError, match=r"cannot be opened: (Not a directory|File exists)$"):
        await SQLiteBackend.open(path / "file" / "store.db")


async def test_releases_the_lock_after_a_failed_open(path: Path) -> None:
    """Open a repaired store in the process that failed to open it."""
    write_file(path, b"something else")
    with pytest.raises(StoreFileError):
        await SQLiteBackend.open(path)
    write_file(path, b"")
    async with opened(path):
        pass


async def test_bounds_the_buffer_of_a_slow_watch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound the buffer of a watch that is not read, and return all events in order once it is."""
    monkeypatch.setattr(sqlite_watch, "MAX_BUFFERED_EVENTS", 50)
    broadcaster = sqlite_watch.Broadcaster(1)
    subscription = broadcaster.subscribe(PREFIX)
    broadcaster.publish([BackendEvent(f"{PREFIX}{n}", 2, b"", None) for n in range(51)], 2)
    assert subscription.lagging
    assert subscription.take() == []
    broadcaster.close()
    async with opened(path) as backend, watching(backend, PREFIX) as batches:
        await first(batches)
        results = await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"") for n in range(1000)))
        events = await collect(batches, lambda events: len(events) == 1000)
        assert [event.revision for event in events] == sorted(result.revision for result in results)
        last = await backend.create(PREFIX + "last", b"")
        assert (await first(batches)).revision == last.revision


async def test_ends_a_watch_that_is_too_slow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise CompactedError from a watch whose next events were compacted."""
    monkeypatch.setattr(sqlite_watch, "MAX_BUFFERED_EVENTS", 5)
    async with opened(path) as backend, watching(backend, PREFIX) as batches:
        await first(batches)
        await asyncio.gather(*(backend.create(f"{PREFIX}{n}", b"") for n in range(20)))
        await backend.compact(await backend.revision())
        with pytest.raises(CompactedError):
            await first(batches)


async def test_reports_progress_periodically(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return progress batches to a watch without events."""
    monkeypatch.setattr(sqlite_watch, "PROGRESS_SECONDS", 0.01)
    async with opened(path) as backend, watching(backend, PREFIX + "in/") as batches:
        await first(batches)
        beside = await backend.create(PREFIX + "a", b"")
        batch = await first(batches)
        assert (list(batch.events), batch.revision) == ([], beside.revision)


def _rows(path: Path) -> int:
    """Return the number of rows of the log."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM log").fetchone()[0])


async def test_reuses_the_space_of_compacted_rows(path: Path) -> None:
    """Keep the file small while a key is updated and compacted repeatedly."""
    async with opened(path) as backend:
        result = await backend.create(PREFIX + "a", b"x" * 20_000)
        for _ in range(5):
            for _ in range(40):
                result = await backend.update(PREFIX + "a", b"x" * 20_000, expected=result.revision)
            await backend.compact(result.revision)
        assert _rows(path) == 1
    assert size(path) < 60 * 20_000


async def test_continues_an_interrupted_compaction(path: Path) -> None:
    """Delete the rows that an interrupted compaction left with the next one."""
    async with opened(path) as backend:
        result = await write(backend, PREFIX + "a", *(b"%d" % n for n in range(300)))
        compacting = asyncio.ensure_future(backend.compact(result.revision))
        await asyncio.sleep(0)
        with pytest.raises(CompactedError):
            await backend.list(PREFIX, revision=1)
        compacting.cancel()
    async with opened(path) as backend:
        last = await backend.update(PREFIX + "a", b"last", expected=result.revision)
        await backend.compact(last.revision)
        assert _rows(path) == 1


async def test_compacts_by_age(path: Path) -> None:
    """Compact up to the latest revision of the previous call."""
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


async def test_cancels_a_count(path: Path) -> None:
    """Answer later lists after a list is cancelled while its keys are counted."""
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


async def test_close_ends_lists(path: Path) -> None:
    """End lists that run during close with their result or a BackendError."""
    async with opened(path) as backend:
        await asyncio.gather(*(backend.create(f"{PREFIX}{n:04}", b"") for n in range(1000)))
        lists = [asyncio.ensure_future(backend.list(PREFIX)) for _ in range(30)]
        await asyncio.sleep(0)
    for outcome in await asyncio.gather(*lists, return_exceptions=True):
        assert isinstance(outcome, BackendError) or (not isinstance(outcome, BaseException) and outcome.count == 1000)


async def test_names_the_size_of_the_largest_values(path: Path) -> None:
    """Refuse values of more than 2 MiB with the message of the reference's etcd client, which names the size of its request."""
    async with opened(path) as backend:
        small = await backend.create(PREFIX + "a", b"")
        for write, revision in (
            (backend.create(PREFIX + "b", b"x" * (2 << 20)), 0),
            (backend.update(PREFIX + "a", b"x" * (2 << 20), expected=small.revision), small.revision),
        ):
            request = rpc.TxnRequest.FromString(messages.conditional(messages.encode(PREFIX + "a"), b"x" * (2 << 20), revision))
            if not revision:
                request.ClearField("failure")
            with pytest.raises(ValueTooLargeError, match=rf"^rpc error: .* larger than max \({request.ByteSize()} vs. 2097152\)$"):
                await write


async def test_shrinks_large_values_of_older_versions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, mark, shrink and delete values beyond the limit that an older version stored; refuse to lengthen them."""
    large = b"x" * 3_000_000
    async with opened(path) as backend:
        with monkeypatch.context() as patched:
            patched.setattr(conditional_write, "MAX_STORED_BYTES", 1 << 30)
            first = await backend.create(PREFIX + "a", large)
            second = await backend.create(PREFIX + "b", large)
        assert (await backend.get(PREFIX + "a"))[0] == KeyValue(PREFIX + "a", large, first.revision)
        assert (await backend.delete(PREFIX + "a", expected=first.revision)).succeeded
        marked = await backend.update(PREFIX + "b", large + b"x" * 100, expected=second.revision)
        assert marked.succeeded
        with pytest.raises(ValueTooLargeError):
            await backend.update(PREFIX + "b", large + b"x" * 2000, expected=marked.revision)
        shrunk = await backend.update(PREFIX + "b", large[:2_000_000], expected=marked.revision)
        assert shrunk.succeeded
        small = await backend.update(PREFIX + "b", large[:1_000_000], expected=shrunk.revision)
        assert small.succeeded
        with pytest.raises(ValueTooLargeError):
            await backend.update(PREFIX + "b", large[:2_000_000], expected=small.revision)
