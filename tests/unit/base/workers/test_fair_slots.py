"""Slots that users get in turn."""

import asyncio

import pytest

from apiext.base.workers.pool import FairSlots, Flow
from tests.support.refusals import refusal


async def take(fair: FairSlots, user: str, order: list[str]) -> None:
    """Take a slot, and note the user."""
    await fair.acquire(Flow(user, None))
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
    fair, order = FairSlots(slots=slots, waiting=9, long=0), list[str]()
    await started(fair, asked, order)
    done = 0
    while len(order) > done:
        fair.release(Flow(order[done], None))
        done += 1
        await settled()

    assert "".join(order) == served
    assert (fair.taken, fair.waiting) == (0, 0)


async def test_the_queue_of_a_user_is_bounded() -> None:
    """Refuse a job with 429 when many of its user wait; those of others wait."""
    fair, order = FairSlots(slots=1, waiting=2, long=0), list[str]()
    tasks = await started(fair, "aaabb", order)
    assert (fair.taken, fair.waiting) == (1, 4)

    refused = await refusal(fair.acquire(Flow("a", None)))

    assert (refused.code, refused.retry_after) == (429, 1)
    tasks += [asyncio.create_task(take(fair, "", order)) for _ in range(5)]
    await settled()
    assert fair.waiting == 9
    for task in tasks:
        task.cancel()


async def test_a_cancelled_job_leaves_the_queue() -> None:
    """Drop a job that waits, and pass on the slot of one that is cancelled as it gets it."""
    fair, order = FairSlots(slots=1, waiting=9, long=0), list[str]()
    _, second, third, _ = await started(fair, "abcd", order)
    second.cancel()
    await settled()
    assert fair.waiting == 2

    fair.release(Flow("a", None))
    third.cancel()
    await settled()

    assert order == ["a", "d"]


async def test_a_job_that_waits_lends_its_slot() -> None:
    """Give the slot of a job that waits to another one, and take it back at once; later jobs wait until there is one again."""
    fair, order = FairSlots(slots=1, waiting=9, long=0), list[str]()
    await started(fair, "abc", order)
    fair.release(Flow("a", None))
    await settled()
    fair.resume(Flow("a", None))
    assert (order, fair.taken, fair.waiting) == (["a", "b"], 2, 1)
    fair.release(Flow("b", None))
    await settled()
    assert order == ["a", "b"]
    fair.release(Flow("a", None))
    await settled()
    assert order == ["a", "b", "c"]


async def waiting(fair: FairSlots, flow: Flow, order: list[Flow]) -> asyncio.Task[None]:
    """Let a job of a flow begin or wait."""

    async def begin() -> None:
        await fair.acquire(flow)
        order.append(flow)

    task = asyncio.create_task(begin())
    await settled()
    return task


async def test_a_job_that_takes_long_lets_others_pass() -> None:
    """Give its slot to jobs of other kinds and users; those of its flow wait until it ends."""
    fair, order = FairSlots(slots=1, waiting=9, long=2), list[Flow]()
    heavy, light, other = Flow("a", "heavy"), Flow("a", "light"), Flow("b", "heavy")
    tasks = [await waiting(fair, flow, order) for flow in (heavy, heavy, light, other)]
    assert order == [heavy]

    assert fair.lengthen(heavy)
    await settled()
    assert order == [heavy, light]
    fair.release(light)
    await settled()
    assert order == [heavy, light, other]
    fair.release(other)
    await settled()
    assert (len(order), fair.taken, fair.waiting) == (3, 1, 1)
    fair.end_long(heavy)
    await settled()
    assert order == [heavy, light, other, heavy]
    assert (fair.taken, fair.waiting) == (1, 0)
    assert all(task.done() for task in tasks)


async def test_kinds_of_a_user_are_served_in_turn() -> None:
    """Serve a job before those that another kind has had first."""
    fair, order = FairSlots(slots=1, waiting=9, long=0), list[Flow]()
    tasks = [await waiting(fair, Flow("a", kind), order) for kind in "xxxy"]
    for _ in range(3):
        fair.release(order[-1])
        await settled()

    assert "".join(str(flow.kind) for flow in order) == "xxyx"
    assert all(task.done() for task in tasks)


@pytest.mark.parametrize(
    "flows, expected",
    [
        pytest.param([("a", 1), ("a", 1)], [True, False], id="one of a flow"),
        pytest.param([("a", 1), ("a", 2), ("a", 3)], [True, True, False], id="all but one of a user"),
        pytest.param([("a", 1), ("a", 2), ("b", 1), ("c", 1)], [True, True, True, False], id="a number of all"),
    ],
)
async def test_long_jobs_are_few(flows: list[tuple[str, int]], expected: list[bool]) -> None:
    """Let a job keep its slot if too many go on without one."""
    fair = FairSlots(slots=9, waiting=9, long=3)
    for user, kind in flows:
        await fair.acquire(Flow(user, kind))

    assert [fair.lengthen(Flow(user, kind)) for user, kind in flows] == expected
    assert fair.taken == len(flows)
