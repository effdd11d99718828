"""Open files and free memory of the process."""

import asyncio
import resource
from collections.abc import Iterable

import pytest

from apiext.server import process_resources
from apiext.server.process_resources import raise_open_files_limit, return_free_memory
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

    monkeypatch.setattr(process_resources, "_INTERVAL", 0.0001)
    monkeypatch.setattr(process_resources, "resident_bytes", resident)
    monkeypatch.setattr(process_resources, "trimmer", lambda: search)
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


async def test_needs_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do nothing with a C library that cannot return memory."""
    monkeypatch.setattr(process_resources, "trimmer", lambda: None)

    await return_free_memory()
