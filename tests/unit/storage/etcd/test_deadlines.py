"""Deadlines of calls that share one timer."""

import asyncio

import pytest

from apiext.base.http2 import frames
from apiext.storage.etcd.http2.deadlines import NO_DEADLINE, Deadlines
from apiext.storage.etcd.http2.grpc_status import DEADLINE_EXCEEDED, RpcError
from tests.unit.storage.etcd.peer import connected


async def _end(call: asyncio.Future[bytes]) -> float:
    """Return the time at which a call reaches its deadline."""
    with pytest.raises(RpcError) as caught:
        await call
    assert caught.value.code == DEADLINE_EXCEEDED
    return asyncio.get_running_loop().time()


async def test_each_call_ends_at_its_own_deadline() -> None:
    """End calls at their deadlines, whatever the order in which they were sent."""
    async with connected() as (channel, peer):
        limits = (0.2, 60.0, 0.05, 0.3, 0.1)
        start = asyncio.get_running_loop().time()
        calls = [asyncio.ensure_future(channel.unary("/a", b"", seconds)) for seconds in limits]
        for _ in calls:
            await peer.frame(frames.DATA)
        peer.answer(3, b"answer")
        assert await calls.pop(1) == b"answer"
        ends = await asyncio.gather(*map(_end, calls))
        assert all(end - start > limit - 0.01 for limit, end in zip((0.2, 0.05, 0.3, 0.1), ends, strict=True))
        assert {(await peer.frame(frames.RST_STREAM))[1] for _ in calls} == {1, 5, 7, 9}


async def test_a_call_after_the_last_deadline() -> None:
    """Keep the time of calls that begin after all earlier ones have ended."""
    async with connected() as (channel, _):
        for _ in range(3):
            await _end(asyncio.ensure_future(channel.unary("/a", b"", 0.02)))


async def test_one_timer_for_many_deadlines() -> None:
    """Ask for the earliest deadline only, and for the next one after it."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    left = [now + 0.02, now + 0.03, now + 60]
    asked: list[float] = []
    over = asyncio.Event()

    def expire(until: float) -> float:
        asked.append(until)
        left[:] = [deadline for deadline in left if deadline > until]
        if len(left) == 1:
            over.set()
        return min(left, default=NO_DEADLINE)

    deadlines = Deadlines(loop, expire)
    for deadline in reversed(left):
        deadlines.add(deadline)
    async with asyncio.timeout(30):
        await over.wait()
    assert len(asked) <= 2
    assert left == [now + 60]
    deadlines.stop()
