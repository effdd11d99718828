"""What is looked at, and when."""

import asyncio

import pytest

from apiext.operator.api_clients import ApiError
from apiext.operator.group_queue import GroupQueue
from tests.support.captured_logs import logged


class Looks:
    """Notes who is looked at; each look waits until it may end."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.seen = asyncio.Condition()
        self.errors: list[Exception] = []
        self.after: float | None = None

    async def look(self, key: str) -> float | None:
        """See GroupQueue."""
        async with self.seen:
            self.keys.append(key)
            self.seen.notify_all()
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        return self.after

    async def until(self, count: int) -> None:
        """Return when so many looks have begun."""
        async with self.seen:
            await self.seen.wait_for(lambda: len(self.keys) >= count)


async def test_what_is_told_often_is_looked_at_once() -> None:
    """Changes that come together are one look; those that come meanwhile are one more, not at the same time."""
    looks = Looks()
    queue = GroupQueue(looks.look)
    looks.gate.clear()
    for _ in range(5):
        queue.add("a", 0.0)
    await looks.until(1)
    for _ in range(5):
        queue.add("a", 0.0)
    queue.add("b", 0.0)
    await looks.until(2)
    assert looks.keys == ["a", "b"]

    looks.gate.set()
    await looks.until(3)
    assert looks.keys == ["a", "b", "a"]
    await queue.close()


async def test_failures_are_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """What fails is looked at again, also where it is a defect; both are logged."""
    looks = Looks()
    looks.errors = [ApiError("no"), RuntimeError("defect")]
    queue = GroupQueue(looks.look)
    queue.add("a", 0.0)
    await looks.until(1)
    queue.add("a", 0.0)
    await looks.until(2)
    queue.add("a", 0.0)
    await looks.until(3)
    await queue.close()

    assert [line["event"] for line in logged(caplog)] == ["a group waits for another attempt", "a group failed"]


async def test_it_comes_back_by_itself() -> None:
    """A look that asks for another one gets it; a failed one comes back without being told."""
    looks = Looks()
    looks.after = 0.0
    queue = GroupQueue(looks.look)
    queue.add("a", 0.0)
    await looks.until(3)
    looks.after = None
    looks.errors = [ApiError("no")]
    await looks.until(len(looks.keys) + 2)
    await queue.close()


async def test_the_end() -> None:
    """Who is at work is ended, and nothing begins any more."""
    looks = Looks()
    queue = GroupQueue(looks.look)
    looks.gate.clear()
    queue.add("a", 0.0)
    await looks.until(1)
    queue.add("b", 60.0)
    await queue.close()
    queue.add("c", 0.0)
    await asyncio.sleep(0)

    assert looks.keys == ["a"]
