"""The embedded backend over a file that goes bad, is taken by others, or hangs, while it is open."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from apiext.storage.backend import UnavailableError
from apiext.storage.sqlite.backend import SQLiteBackend
from tests.contract.sqlite_files import PREFIX, impatient, opened


class _Unreadable:
    """A connection to a file that was damaged while it was open."""

    in_transaction = False

    def execute(self, _statement: str, _parameters: object = ()) -> None:
        """Raises what SQLite raises."""
        raise sqlite3.DatabaseError("database disk image is malformed")


async def test_a_file_that_cannot_be_read_any_more(tmp_path: Path) -> None:
    """When a transaction cannot even begin, the writes fail with the reason instead of waiting for ever, and so do those after them."""
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


async def test_a_visitor_with_a_lock_is_waited_for(path: Path) -> None:
    """While another program holds a write lock, writes wait, and are done when it lets go."""
    async with opened(path) as backend:
        with closing(sqlite3.connect(path, isolation_level=None)) as visitor:
            visitor.execute("BEGIN IMMEDIATE")
            writing = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "ab"]
            await asyncio.wait(writing, timeout=0.05)
            assert not any(write.done() for write in writing)
            visitor.execute("ROLLBACK")
            assert all(result.succeeded for result in await asyncio.gather(*writing))


async def test_a_visitor_who_stays(path: Path) -> None:
    """A lock that is held beyond the deadline fails the writes, which have not been done; later ones are."""
    async with opened(path) as backend:
        with closing(sqlite3.connect(path, isolation_level=None)) as visitor:
            visitor.execute("BEGIN IMMEDIATE")
            with impatient(backend), pytest.raises(UnavailableError):
                await backend.create(PREFIX + "a", b"")
            visitor.execute("ROLLBACK")
        assert (await backend.create(PREFIX + "b", b"")).succeeded
        assert [item.key for item in (await backend.list(PREFIX)).items] == [PREFIX + "b"]


async def test_a_disk_that_hangs(path: Path) -> None:
    """A commit that does not end in time fails its writers and those who wait behind it; reads go on."""
    async with opened(path) as backend:
        await backend.create(PREFIX + "a", b"1")
        awake = threading.Event()

        def hang() -> None:
            awake.wait()

        backend._writer._worker.run(hang, lambda _: None)
        with impatient(backend):
            writes = [asyncio.ensure_future(backend.create(PREFIX + name, b"")) for name in "bc"]
            await asyncio.sleep(0)
            writes.append(asyncio.ensure_future(backend.create(PREFIX + "d", b"")))
            outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 3
        assert (await backend.get(PREFIX + "a"))[0] is not None
        awake.set()
        async with asyncio.timeout(30):
            assert (await backend.create(PREFIX + "e", b"")).succeeded


async def test_a_full_disk(path: Path) -> None:
    """When the disk is full, writes fail and nothing of them stays; reads go on, and writes do when there is room."""
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
