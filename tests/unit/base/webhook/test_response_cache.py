"""The cache of another server's answers."""

import asyncio

import pytest

from apiext.base.webhook.response_cache import ResponseCache


class Remote:
    """A server that answers with the number of the call, and a clock."""

    def __init__(self) -> None:
        self.calls = 0
        self.now = 0.0
        self.open = asyncio.Event()
        self.open.set()
        self.called = asyncio.Event()

    async def ask(self) -> tuple[int, float]:
        """Return the answer and 10 seconds."""
        self.calls += 1
        self.called.set()
        await self.open.wait()
        return self.calls, 10.0


async def test_caches_by_key_until_the_expiry() -> None:
    """Fetch an answer again after its expiry, and for another key."""
    remote = Remote()
    cache: ResponseCache[int] = ResponseCache(max_entries=10, clock=lambda: remote.now)
    found = [await cache.get(b"a", remote.ask), await cache.get(b"a", remote.ask), await cache.get(b"b", remote.ask)]
    remote.now = 10.0

    assert [*found, await cache.get(b"a", remote.ask)] == [1, 1, 2, 3]


async def test_drops_the_least_recently_used() -> None:
    """Drop the least recently used entry above the maximum."""
    remote = Remote()
    cache: ResponseCache[int] = ResponseCache(max_entries=2)
    for key in (b"a", b"b", b"a", b"c", b"a"):
        await cache.get(key, remote.ask)

    assert remote.calls == 3
    await cache.get(b"b", remote.ask)
    assert remote.calls == 4


async def test_shares_concurrent_calls() -> None:
    """Share a call between concurrent callers, also where the first one is cancelled."""
    remote = Remote()
    remote.open.clear()
    cache: ResponseCache[int] = ResponseCache(max_entries=10)
    tasks = [asyncio.create_task(cache.get(b"a", remote.ask)) for _ in range(3)]
    await remote.called.wait()
    tasks[0].cancel()
    remote.open.set()

    assert await asyncio.gather(*tasks[1:]) == [1, 1]


async def test_does_not_cache_failures() -> None:
    """Cache neither a failure nor an answer with 0 seconds."""
    calls = []

    async def fails() -> tuple[int, float]:
        calls.append("fails")
        raise ValueError("no")

    async def fleeting() -> tuple[int, float]:
        calls.append("fleeting")
        return 1, 0.0

    cache: ResponseCache[int] = ResponseCache(max_entries=10)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await cache.get(b"a", fails)
        await cache.get(b"a", fleeting)

    assert calls == ["fails", "fleeting"] * 2
