"""Open files and free memory of the process."""

import asyncio
import resource
from collections.abc import Iterable
from functools import partial
from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from apiext.server import process_resources
from apiext.server.process_resources import FullCollections, raise_open_files_limit, return_free_memory
from tests.support.event_loop import until


def test_allows_as_many_files_as_possible() -> None:
    """Raise the soft limit to the hard one."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        raise_open_files_limit()

        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def _searches(monkeypatch: pytest.MonkeyPatch, sizes: Iterable[tuple[int, int]]) -> list[int]:
    """Return the numbers of the looks that searched for free memory; each look finds a size in MiB, and a smaller one after a search."""
    found: list[int] = []
    before_search = True
    sizes_left = iter(sizes)
    size = (0, 0)
    looks = -1

    def resident() -> int:
        nonlocal size, looks, before_search
        if before_search:
            size, looks = next(sizes_left, (0, 0)), looks + 1
            return size[0] << 20
        before_search = True
        return size[1] << 20

    def search(_pad: int) -> None:
        nonlocal before_search
        found.append(looks)
        before_search = False

    monkeypatch.setattr(process_resources, "LOOK_SECONDS", 0.0001)
    monkeypatch.setattr(process_resources, "resident_bytes", resident)
    monkeypatch.setattr(process_resources, "trimmer", lambda: search)
    monkeypatch.setattr(process_resources, "FullCollections", lambda: SimpleNamespace(look=lambda _: None))
    task = asyncio.create_task(return_free_memory())
    await until(lambda: looks > 100)
    task.cancel()
    return found


async def test_returns_memory_after_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the C library when the process is much larger than at its start."""
    looks = [(100, 0), (110, 0), (140, 140), (140, 120)]

    assert await _searches(monkeypatch, looks) == [2, 3]


async def test_searches_become_rare_without_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search less and less often while nothing changes, and again after growth."""
    looks = [(100, 0), *[(140, 140)] * 31, *[(160, 160)] * 2]

    assert await _searches(monkeypatch, looks) == [1, 2, 4, 8, 16, 32, 33]


def _collections(monkeypatch: pytest.MonkeyPatch, looks: Iterable[tuple[float, int]], *, took: float) -> list[float]:
    """Return the times of full collections, each of which takes a number of seconds; each look finds a time and a size in MiB."""
    found: list[float] = []
    now, size = 0.0, 60

    def collect() -> None:
        nonlocal now
        found.append(now)
        now += took

    monkeypatch.setattr(process_resources, "resident_bytes", lambda: size << 20)
    monkeypatch.setattr(process_resources, "gc", SimpleNamespace(collect=collect))
    monkeypatch.setattr(process_resources, "time", SimpleNamespace(monotonic=lambda: now))
    collections = FullCollections()
    for moment, size in looks:
        now = moment
        collections.look(size << 20)
    return found


def test_collects_old_cycles_after_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collect in full when the process has grown for a minute since the last time, by a sixteenth or 8 MiB."""
    small = enumerate([67, *[68] * 6, *[75] * 6, *[76] * 6, 50, *[58] * 6])
    large = enumerate([*[800] * 6, *[849] * 6, *[850] * 6])
    passing = enumerate([*[100] * 5, 60] * 3)

    assert _collections(monkeypatch, small, took=0.0) == [6, 18, 25]
    assert _collections(monkeypatch, large, took=0.0) == [5, 17]
    assert _collections(monkeypatch, passing, took=0.0) == []


def test_full_collections_take_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer after a collection that took long."""
    looks = [(moment, 100 + moment) for moment in range(0, 3000, 10)]

    assert _collections(monkeypatch, looks, took=0.2) == [50, 1060, 2070]


async def test_needs_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only collect cycles with a C library that cannot return memory."""
    asked: list[None] = []
    looks: list[int] = []
    monkeypatch.setattr(process_resources, "LOOK_SECONDS", 0.0001)
    monkeypatch.setattr(process_resources, "resident_bytes", partial(next, chain([100 << 20], repeat(200 << 20))))
    monkeypatch.setattr(process_resources, "trimmer", lambda: asked.append(None))
    monkeypatch.setattr(process_resources, "FullCollections", lambda: SimpleNamespace(look=looks.append))
    task = asyncio.create_task(return_free_memory())
    await until(lambda: len(looks) > 10)
    task.cancel()

    assert len(asked) == 1
