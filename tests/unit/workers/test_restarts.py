"""Jobs that end while an answer takes long, and start again."""

import asyncio
import gc
import os
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.meta import limits
from apiext.workers.pool import WorkerPool
from apiext.workers.restarts import KeptAnswers, converse_again, recorded
from apiext.workers.server_link import ServerLink
from tests.support.event_loop import until


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Return a pool of one process."""
    pool = WorkerPool(processes=1)
    yield pool
    await pool.close()


async def asking(link: ServerLink, count: int) -> list[Any]:
    """Ask questions one after the other, of two kinds in turn, and return the answers."""
    return [link.ask(("odd", "even")[number % 2], number) for number in range(count)]


def own_id() -> int:
    """Return the process."""
    return os.getpid()


async def test_keeps_the_answers_of_earlier_runs(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask each question once, run other jobs meanwhile, and return the result of the last run."""
    monkeypatch.setattr(limits, "MAX_BLOCKED_RENDERING_SECONDS", 0.0)
    asked, gate = list[int](), asyncio.Event()

    async def answer(number: int) -> int:
        asked.append(number)
        if number:
            await gate.wait()
        return number * 10

    job = asyncio.create_task(converse_again(pool, asking, 4, answers=KeptAnswers(pool, {"odd": answer, "even": answer})))
    await until(lambda: 1 in asked and not pool.running)
    assert await pool.call(own_id)
    assert not job.done()
    gate.set()

    assert await job == [0, 10, 20, 30]
    assert asked == [0, 1, 2, 3]


async def test_raises_what_an_answer_raises(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the error of a late answer in the job."""
    monkeypatch.setattr(limits, "MAX_BLOCKED_RENDERING_SECONDS", 0.0)

    async def answer(_: int) -> int:
        await asyncio.sleep(0)
        raise LookupError("none")

    with pytest.raises(LookupError, match="none"):
        await converse_again(pool, asking, 1, answers=KeptAnswers(pool, {"odd": answer}))


async def test_stays_where_its_answers_are_many_bytes(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait in the process for an answer that follows more bytes than are kept, while other jobs run."""
    monkeypatch.setattr(limits, "MAX_BLOCKED_RENDERING_SECONDS", 30.0)
    monkeypatch.setattr(limits, "MAX_BLOCKED_WORKER_SECONDS", 0.0)
    monkeypatch.setattr(limits, "MAX_KEPT_ANSWER_BYTES", 10)
    asked, gate = list[int](), asyncio.Event()

    async def answer(number: int) -> bytes:
        asked.append(number)
        if number == 1:
            await gate.wait()
        return b"x" * 11

    job = asyncio.create_task(converse_again(pool, asking, 5, answers=KeptAnswers(pool, {"odd": answer, "even": answer})))
    await until(lambda: 1 in asked and not pool.running)
    assert await pool.call(own_id)
    gate.set()

    assert await job == [b"x" * 11] * 5
    assert asked == [0, 1, 2, 3, 4]


async def test_kept_errors_hold_nothing(pool: WorkerPool) -> None:
    """Forget where an error comes from: the answer that it is about may be large."""

    class Large:
        pass

    answers: weakref.WeakSet[Large] = weakref.WeakSet()

    async def answer() -> int:
        large = Large()
        answers.add(large)
        try:
            raise OSError("unreadable")
        except OSError as error:
            raise LookupError("none") from error

    kept = KeptAnswers(pool, {"odd": answer})
    with kept.recording(), pytest.raises(LookupError, match="none"):
        await recorded("odd", answer())
    gc.collect()

    assert not answers


async def test_cancels_what_it_waits_for(pool: WorkerPool) -> None:
    """End an answer with the job that nobody needs any more."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def answer(_: int) -> int:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    job = asyncio.create_task(converse_again(pool, asking, 1, answers=KeptAnswers(pool, {"odd": answer})))
    await began.wait()
    job.cancel()
    await ended.wait()
    with pytest.raises(asyncio.CancelledError):
        await job


async def test_continues_what_began_in_the_server(pool: WorkerPool) -> None:
    """Give a job the answers that an attempt in the server had, and ask on."""
    asked = list[str]()

    async def answer(number: int, where: str = "worker") -> int:
        asked.append(f"{where} {number}")
        return number

    kept = KeptAnswers(pool, {"odd": answer, "even": answer})
    with kept.recording():
        assert await recorded("odd", answer(0, "server")) == 0
        assert await recorded("even", answer(1, "server")) == 1
    assert await recorded("odd", answer(2, "elsewhere")) == 2

    assert await converse_again(pool, asking, 4, answers=kept) == [0, 1, 2, 3]
    assert asked == ["server 0", "server 1", "elsewhere 2", "worker 2", "worker 3"]
