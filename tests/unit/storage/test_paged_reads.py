"""Pages of a prefix: limited by bytes as well as number."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from apiext.storage.backend import CompactedError, KeyValue, NotStreamedError, UnavailableError
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


class Streaming(MemoryBackend):
    """Streams ranges, in pieces of 100 keys, until `fault` comes or the end of `pieces`."""

    fault: Exception | None = None
    pieces = 1_000
    closed = 0

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]]:  # type: ignore[override]
        """Return the keys in pieces."""
        return self._stream(prefix, start, revision)

    async def _stream(self, prefix: str, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]]:
        items = (await super().list(prefix, start=start, revision=revision)).items
        try:
            for first in range(0, min(len(items), self.pieces * 100), 100):
                yield items[first : first + 100]
            if self.fault is not None:
                raise self.fault
        finally:
            self.closed += 1


@pytest.mark.parametrize(
    "pieces, fault, expected",
    [
        (1_000, None, [8, 100, 100, 42]),
        (0, NotStreamedError("none"), [8, 64, 178]),
        (1, UnavailableError("broken"), [8, 100, 64, 78]),
        (2, None, [8, 100, 100, 42]),
    ],
)
async def test_streams_what_it_can(pieces: int, fault: Exception | None, expected: list[int]) -> None:
    """Read the first page, then a stream; read pages where the stream ends, all as the first page saw them."""
    backend = Streaming()
    await fill(backend, 250, 100)
    backend.pieces, backend.fault = pieces, fault
    found = []
    async for page in pages(backend, PREFIX):
        found.append(page)
        await backend.create(f"{PREFIX}a-{len(found)}", b"later")

    assert [len(page.items) for page in found] == expected
    assert len({pair.key for page in found for pair in page.items}) == 250
    assert [page.more for page in found] == [True] * (len(found) - 1) + [False]


async def test_does_not_stream_a_few_objects() -> None:
    """Read one page where that is everything."""
    backend = Streaming()
    await fill(backend, 8, 100)

    assert [len(page.items) async for page in pages(backend, PREFIX)] == [8]
    assert not backend.closed


async def test_raises_errors_of_the_range() -> None:
    """Raise the error of a compacted revision: pages cannot continue."""
    backend = Streaming()
    await fill(backend, 250, 100)
    backend.fault = CompactedError(7)
    with pytest.raises(CompactedError):
        [page async for page in pages(backend, PREFIX)]


async def test_closes_the_stream_of_a_reader_that_stops() -> None:
    """Close the stream as soon as the reader stops."""
    backend = Streaming()
    await fill(backend, 250, 100)
    async with aclosing(pages(backend, PREFIX)) as reading:
        await anext(reading)
        await anext(reading)

    assert backend.closed == 1


async def test_grows_again(backend: MemoryBackend) -> None:
    """Read small pages of large objects only."""
    await fill(backend, 10, 2 * MIB)
    await fill(backend, 1000, 3)

    assert await sizes(backend) == [8, 2, 2, 16, 128, 854]
