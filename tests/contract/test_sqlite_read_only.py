"""Reads of a SQLite store beside the server that uses it."""

import asyncio
from pathlib import Path

import pytest

from apiext.storage.backend import CompactedError, UnavailableError
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.sqlite.errors import StoreFileError
from apiext.storage.sqlite.read_only import ReadOnlySQLite


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


async def test_sees_what_the_server_writes(path: Path) -> None:
    """Read committed writes at once, and the state of a past revision, beside the open store; the store goes on writing."""
    server = await SQLiteBackend.open(path)
    first = (await server.create("/a/x", b"1")).revision
    reader = await ReadOnlySQLite.open(path)
    second = (await server.update("/a/x", b"2", expected=first)).revision
    await server.create("/a/y", b"3")

    found, revision = await reader.get("/a/x")
    assert (found and found.value, revision) == (b"2", second + 1)
    assert [pair.value for pair in (await reader.list("/a/")).items] == [b"2", b"3"]
    assert [pair.value for pair in (await reader.list("/a/", revision=first)).items] == [b"1"]
    assert (await reader.count("/a/"), await reader.revision(), reader.known_revision()) == (2, second + 1, None)
    await reader.healthy()
    await reader.close()
    assert (await server.delete("/a/y", expected=second + 1)).succeeded
    await server.close()


async def test_notices_a_compaction(path: Path) -> None:
    """Refuse a revision that the server has compacted meanwhile."""
    server = await SQLiteBackend.open(path)
    first = (await server.create("/a/x", b"1")).revision
    reader = await ReadOnlySQLite.open(path)
    second = (await server.update("/a/x", b"2", expected=first)).revision
    await server.compact(second)

    with pytest.raises(CompactedError):
        await reader.list("/a/", revision=first)
    await reader.close()
    await server.close()


async def test_reads_after_a_crash(path: Path) -> None:
    """Read what a server that was killed has committed, without taking its lock."""
    server = await SQLiteBackend.open(path)
    await server.create("/a/x", b"1")
    copy = path.with_name("copy.db")
    for suffix in ("", "-wal"):
        copy.with_name(copy.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    reader = await ReadOnlySQLite.open(copy)

    assert (await reader.count("/a/")) == 1
    await reader.close()
    await server.close()
    restarted = await SQLiteBackend.open(copy)
    assert (await restarted.count("/a/")) == 1
    await restarted.close()


async def test_writes_nothing(path: Path) -> None:
    """Refuse writes and watches."""
    await (await SQLiteBackend.open(path)).close()
    before = _content(path)
    reader = await ReadOnlySQLite.open(path)
    calls = [reader.create("/a", b""), reader.update("/a", b"", expected=1), reader.delete("/a", expected=1), reader.compact(1)]
    calls += [reader.compact_aged(), reader.request_progress()]
    results = await asyncio.gather(*calls, return_exceptions=True)
    with pytest.raises(UnavailableError):
        reader.watch("/")
    await reader.close()

    assert [type(result) for result in results] == [UnavailableError] * 6
    assert _content(path) == before


async def test_refuses_other_files(path: Path, tmp_path: Path) -> None:
    """Refuse a file that is missing or no store, and create none."""
    with pytest.raises(StoreFileError, match="cannot be opened"):
        await ReadOnlySQLite.open(path)
    other = tmp_path / "other.db"
    other.write_bytes(b"x" * 5000)
    with pytest.raises(StoreFileError, match="cannot be opened: file is not a database"):
        await ReadOnlySQLite.open(other)

    assert _content(path) is None
