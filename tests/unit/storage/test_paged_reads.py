"""Pages of a prefix: limited by bytes as well as number."""

import pytest

from apiext.storage.paged_reads import latest_pages, pages
from tests.support.servers.memory_backend import MemoryBackend

PREFIX = "/registry/example.com/widgets/"
MIB = 1 << 20


async def fill(backend: MemoryBackend, count: int, size: int) -> None:
    """Store values, which share their bytes."""
    value = b"x" * size
    for number in range(count):
        await backend.create(f"{PREFIX}{size}-{number:05}", value)


async def sizes(backend: MemoryBackend) -> list[int]:
    """Return the number of objects of each page; assert that both kinds of pages have the same objects."""
    found = [page.items async for page in pages(backend, PREFIX)]
    assert found == [page async for page in latest_pages(backend, PREFIX)]
    keys = [pair.key for page in found for pair in page]
    assert len(set(keys)) == len(keys) == await backend.count(PREFIX)
    return [len(page) for page in found]


@pytest.mark.parametrize(
    "count,size,expected",
    [
        (0, 1, [0]),
        (8, 1, [8]),
        (3000, 100, [8, 64, 512, 1000, 1000, 416]),
        (12, 2 * MIB, [8, 2, 2]),
        (11, 5 * MIB, [8, 1, 1, 1]),
    ],
)
async def test_limits_bytes(backend: MemoryBackend, count: int, size: int, expected: list[int]) -> None:
    """Read as many objects as 4 MiB hold, from few on, and one at least."""
    await fill(backend, count, size)

    assert await sizes(backend) == expected


async def test_grows_again(backend: MemoryBackend) -> None:
    """Read small pages of large objects only."""
    await fill(backend, 10, 2 * MIB)
    await fill(backend, 1000, 3)

    assert await sizes(backend) == [8, 2, 2, 16, 128, 854]
