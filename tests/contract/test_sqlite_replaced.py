"""The SQLite backend over a file whose data is replaced while it is open."""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from apiext.storage.backend import HistoryLostError, UnavailableError, WatchBatch
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.errors import StoreFileError
from tests.contract.sqlite_files import opened

PREFIX = "/registry/x/"


async def _fill(backend: SQLiteBackend, names: str) -> None:
    for name in names:
        await backend.create(PREFIX + name, name.encode() * 3000)


async def _names(backend: SQLiteBackend) -> str:
    return "".join(item.key.removeprefix(PREFIX) for item in (await backend.list(PREFIX)).items)


def _move(path: Path, to: Path, data: bytes | None = None) -> None:
    """Rename a file, and put data in its place."""
    path.rename(to)
    if data is not None:
        path.write_bytes(data)


async def _read_on(batches: AsyncGenerator[WatchBatch]) -> None:
    """Read a watch to its end."""
    async for _ in batches:
        pass


async def _copy(path: Path) -> Path:
    """Return a copy of a store."""
    copy = path.with_name("copy.db")

    def save() -> None:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)

    await asyncio.to_thread(save)
    return copy


async def test_a_file_that_takes_the_name(path: Path) -> None:
    """Go on with the new file as it is; the old one has all its writes where it was moved to. Open watches end."""
    moved = path.with_name("moved.db")
    async with opened(path) as backend, aclosing(backend.watch(PREFIX)) as batches:
        await anext(batches)
        await _fill(backend, "abc")
        copy = await _copy(path)
        await _fill(backend, "def")
        backend.check_history()
        _move(path, moved)
        _move(copy, path)
        with pytest.raises(HistoryLostError, match="replaced by another file"):
            backend.check_history()
        assert await backend.start_over() == 4
        with pytest.raises(HistoryLostError):
            await _read_on(batches)
        backend.check_history()
        await _fill(backend, "x")
        assert await _names(backend) == "abcx"
    async with opened(path) as backend:
        assert await _names(backend) == "abcx"
    async with opened(moved) as backend:
        assert await _names(backend) == "abcdef"


async def test_a_file_that_is_overwritten(path: Path) -> None:
    """Go on with the new bytes, without the log of the former ones."""
    async with opened(path) as backend:
        await _fill(backend, "abc")
        copy = await _copy(path)
        await _fill(backend, "def")
    async with opened(path) as backend:
        await _fill(backend, "gh")
        shutil.copyfile(copy, path)
        with pytest.raises(HistoryLostError, match="overwritten by an older copy"):
            backend.check_history()
        assert await backend.start_over() == 4
        await _fill(backend, "x")
        backend.check_history()
        assert await _names(backend) == "abcx"
    async with opened(path) as backend:
        assert await _names(backend) == "abcx"


@pytest.mark.parametrize("is_noticed", [True, False], ids=["looked", "wrote"])
async def test_data_that_another_program_restores(path: Path, *, is_noticed: bool) -> None:
    """Refuse a write whose conditions were those of the former data, then go on with the present data."""
    async with opened(path) as backend:
        await _fill(backend, "abc")
        copy = await _copy(path)
        await _fill(backend, "def")

        def restore() -> None:
            with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
                source.backup(target)

        await asyncio.to_thread(restore)
        if not is_noticed:
            with pytest.raises(UnavailableError, match="nothing was written"):
                await backend.create(PREFIX + "x", b"1")
        with pytest.raises(HistoryLostError, match="from 7 to 4"):
            backend.check_history()
        assert await backend.start_over() == 4
        await _fill(backend, "x")
        assert await _names(backend) == "abcx"


@pytest.mark.parametrize("data", [None, b"", b"some text", b"SQLite format 3\x00"], ids=["missing", "empty", "text", "damaged"])
async def test_a_file_that_is_no_store(path: Path, data: bytes | None) -> None:
    """Go on to read the old file while there is nothing else to go on with."""
    async with opened(path) as backend:
        await _fill(backend, "abc")
        # a list needs a connection that is open already
        assert await _names(backend) == "abc"
        _move(path, path.with_name("moved.db"), data)
        backend.check_history()
        with pytest.raises(StoreFileError, match="is not a store"):
            await backend.start_over()
        assert await _names(backend) == "abc"


async def test_checkpoints_are_no_alarm(path: Path) -> None:
    """Accept that the file changes by its own log, and by a program that copies the log into it."""
    async with opened(path) as backend:
        for name in "abcdefgh":
            await backend.create(PREFIX + name, name.encode() * 1_000_000)
            backend.check_history()

        def checkpoint() -> None:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()

        await asyncio.to_thread(checkpoint)
        backend.check_history()
        await _fill(backend, "x")
        backend.check_history()
        assert await _names(backend) == "abcdefghx"
