"""Answers of another server are kept, and shared by those who ask at once."""

import asyncio

import pytest

from apiext.webhook.response_cache import Answers


class Remote:
    """Answers with the number of the call, and has a clock."""

    def __init__(self) -> None:
        self.calls = 0
        self.now = 0.0
        self.open = asyncio.Event()
        self.open.set()
        self.called = asyncio.Event()

    async def ask(self) -> tuple[int, float]:
        """The answer, which may be kept for 10 seconds."""
        self.calls += 1
        self.called.set()
        await self.open.wait()
        return self.calls, 10.0


async def test_kept_for_a_while() -> None:
    """An answer is asked for again when its time is over, and by another key."""
    remote = Remote()
    answers: Answers[int] = Answers(most=10, clock=lambda: remote.now)
    found = [await answers.get(b"a", remote.ask), await answers.get(b"a", remote.ask), await answers.get(b"b", remote.ask)]
    remote.now = 10.0

    assert [*found, await answers.get(b"a", remote.ask)] == [1, 1, 2, 3]


async def test_no_more_than_allowed() -> None:
    """The one that was wanted longest ago goes first."""
    remote = Remote()
    answers: Answers[int] = Answers(most=2)
    for key in (b"a", b"b", b"a", b"c", b"a"):
        await answers.get(key, remote.ask)

    assert remote.calls == 3
    await answers.get(b"b", remote.ask)
    assert remote.calls == 4


async def test_shared() -> None:
    """Those who ask at once share a call, also when the first of them leaves."""
    remote = Remote()
    remote.open.clear()
    answers: Answers[int] = Answers(most=10)
    tasks = [asyncio.create_task(answers.get(b"a", remote.ask)) for _ in range(3)]
    await remote.called.wait()
    tasks[0].cancel()
    remote.open.set()

    assert await asyncio.gather(*tasks[1:]) == [1, 1]


async def test_failures_and_what_must_not_be_kept() -> None:
    """Neither is kept."""
    calls = []

    async def fails() -> tuple[int, float]:
        calls.append("fails")
        raise ValueError("no")

    async def fleeting() -> tuple[int, float]:
        calls.append("fleeting")
        return 1, 0.0

    answers: Answers[int] = Answers(most=10)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await answers.get(b"a", fails)
        await answers.get(b"a", fleeting)

    assert calls == ["fails", "fleeting"] * 2
