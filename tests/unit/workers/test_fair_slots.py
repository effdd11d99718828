"""Slots that users get in turn."""

import asyncio

import pytest

from apiext.workers.fair_slots import FairSlots
from tests.support.refusals import refusal


async def take(fair: FairSlots, user: str, order: list[str]) -> None:
    """Take a slot, and note the user."""
    await fair.acquire(user)
    order.append(user)


async def started(fair: FairSlots, users: str, order: list[str]) -> list[asyncio.Task[None]]:
    """Start a task for each letter, and let all run."""
    tasks = [asyncio.create_task(take(fair, user, order)) for user in users]
    await settled()
    return tasks


async def settled() -> None:
    """Let all tasks run as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "slots, asked, served",
    [
        pytest.param(1, "aaaabc", "aabcaa", id="users in turn"),
        pytest.param(1, "abab", "abab", id="order of arrival"),
        pytest.param(2, "aab", "aba", id="one slot is left for other users"),
        pytest.param(3, "aaabb", "aabab", id="all slots but one"),
    ],
)
async def test_users_get_slots_in_turn(slots: int, asked: str, served: str) -> None:
    """Serve users in turn, not in the order of their requests."""
    fair, order = FairSlots(slots=slots, waiting=9), list[str]()
    await started(fair, asked, order)
    done = 0
    while len(order) > done:
        fair.release(order[done])
        done += 1
        await settled()

    assert "".join(order) == served
    assert (fair.taken, fair.waiting) == (0, 0)


async def test_the_queue_of_a_user_is_bounded() -> None:
    """Refuse a job with 429 when many of its user wait; those of others wait."""
    fair, order = FairSlots(slots=1, waiting=2), list[str]()
    tasks = await started(fair, "aaabb", order)
    assert (fair.taken, fair.waiting) == (1, 4)

    refused = await refusal(fair.acquire("a"))

    assert (refused.code, refused.retry_after) == (429, 1)
    tasks += [asyncio.create_task(take(fair, "", order)) for _ in range(5)]
    await settled()
    assert fair.waiting == 9
    for task in tasks:
        task.cancel()


async def test_a_cancelled_job_leaves_the_queue() -> None:
    """Drop a job that waits, and pass on the slot of one that is cancelled as it gets it."""
    fair, order = FairSlots(slots=1, waiting=9), list[str]()
    _, second, third, _ = await started(fair, "abcd", order)
    second.cancel()
    await settled()
    assert fair.waiting == 2

    fair.release("a")
    third.cancel()
    await settled()

    assert order == ["a", "d"]


async def test_a_job_that_waits_lends_its_slot() -> None:
    """Give the slot of a job that waits to another one, and take it back at once; later jobs wait until there is one again."""
    fair, order = FairSlots(slots=1, waiting=9), list[str]()
    await started(fair, "abc", order)
    fair.release("a")
    await settled()
    fair.resume("a")
    assert (order, fair.taken, fair.waiting) == (["a", "b"], 2, 1)
    fair.release("b")
    await settled()
    assert order == ["a", "b"]
    fair.release("a")
    await settled()
    assert order == ["a", "b", "c"]
