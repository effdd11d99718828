"""The SQLite backend over a file that is damaged, locked by other programs, or hangs while it is open."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from apiext.storage.backend import UnavailableError
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.contract.sqlite_files import PREFIX, opened, short_deadline


class _Unreadable:
    """A connection to a file that was damaged while it was open."""

    in_transaction = False

    def execute(self, _statement: str, _parameters: object = ()) -> None:
        """Raise SQLite's error for a damaged file."""
        raise sqlite3.DatabaseError("database disk image is malformed")


async def test_fails_writes_to_a_damaged_file(tmp_path: Path) -> None:
    """Fail all writes with the reason when a transaction can not begin."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    await backend.create(PREFIX + "a", b"1")
    whole = backend._writer._connection
    backend._writer._connection = cast("sqlite3.Connection", _Unreadable())
    for name in "bc":
        async with asyncio.timeout(30):
            with pytest.raises(UnavailableError, match="malformed"):
                await backend.create(PREFIX + name, b"")
    backend._writer._connection = whole
    assert (await backend.create(PREFIX + "d", b"")).succeeded
    await backend.close()


async def test_waits_for_another_program(path: Path) -> None:
    """Delay writes while another program holds a write lock, and commit them afterwards."""
    async with opened(path) as backend:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            writing = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "ab"]
            await asyncio.wait(writing, timeout=0.05)
            assert not any(write.done() for write in writing)
            other.execute("ROLLBACK")
            assert all(result.succeeded for result in await asyncio.gather(*writing))


async def test_fails_writes_when_the_lock_stays(path: Path) -> None:
    """Fail writes without effect when another program's lock outlasts the deadline, and commit later ones."""
    async with opened(path) as backend:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with short_deadline(backend), pytest.raises(UnavailableError):
                await backend.create(PREFIX + "a", b"")
            other.execute("ROLLBACK")
        assert (await backend.create(PREFIX + "b", b"")).succeeded
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "b"]


async def test_fails_writes_when_the_disk_hangs(path: Path) -> None:
    """Fail the writes of a commit that outlasts the deadline and those queued behind it; answer reads."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        awake = threading.Event()

        def hang() -> None:
            awake.wait()

        backend._writer._worker.run(hang, lambda _: None)
        with short_deadline(backend):
            writes = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "bc"]
            await asyncio.sleep(0)
            writes.append(asyncio.ensure_future(backend.create(PREFIX + "d", b"")))
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 3
        assert (await backend.get(PREFIX + "a"))[0] is not None
        awake.set()
        async with asyncio.timeout(30):
            assert (await backend.create(PREFIX + "e", b"")).succeeded


async def test_fails_writes_when_the_disk_is_full(path: Path) -> None:
    """Fail writes without effect while the disk is full, answer reads, and commit writes when there is space."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        before = await backend.revision()
        (pages,) = backend._file.writer.execute("PRAGMA page_count").fetchone()
        backend._file.writer.execute(f"PRAGMA max_page_count = {pages + 2}")
        outcomes = await asyncio.gather(
            backend.create(PREFIX + "b", b"1"), backend.create(PREFIX + "c", b"x" * 100_000), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 2
        assert "full" in str(outcomes[1])
        assert await backend.revision() == before
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "a"]
        backend._file.writer.execute("PRAGMA max_page_count = 1000000")
        assert (await backend.create(PREFIX + "c", b"x" * 100_000)).revision == before + 1
