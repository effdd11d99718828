"""Jobs that end while an answer takes long, and start again."""

import asyncio
import gc
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import pytest

from apiext.base.meta import limits
from apiext.base.scheduling.call_log import CallLog
from apiext.base.workers.pool import WorkerPool
from apiext.base.workers.restarts import CallsAside, RestartableJob
from apiext.base.workers.server_link import Answers, ServerLink
from tests.support.event_loop import until

Answer = Callable[[int], Awaitable[Any]]


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Return a pool of one process at a time, however long jobs take."""
    pool = WorkerPool(processes=1, long=0)
    yield pool
    await pool.close()


class Server(Protocol):
    """What the jobs may call."""

    async def answer(self, number: int) -> Any:
        """Return the answer to the call with a number."""
        ...


def answering(answer: Answer) -> Callable[[CallLog], Answers]:
    """Return the answers of another server, which are called by the log."""

    def answers(log: CallLog) -> Answers:
        async def find(number: int) -> Any:
            return await log.call(number, lambda: answer(number), lambda found: len(found) if isinstance(found, bytes) else 0)

        return {Server.answer: find}

    return answers


async def asking(link: ServerLink, count: int) -> list[Any]:
    """Ask questions one after the other, and return the answers."""
    return [link.ask(Server.answer, number) for number in range(count)]


def own_id() -> int:
    """Return the process."""
    return os.getpid()


async def test_keeps_the_answers_of_earlier_attempts(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each call once, run other jobs meanwhile, and return the result of the last attempt."""
    monkeypatch.setattr(limits, "MAX_BLOCKED_RENDERING_SECONDS", 0.0)
    asked, gate = list[int](), asyncio.Event()

    async def answer(number: int) -> int:
        asked.append(number)
        if number:
            await gate.wait()
        return number * 10

    job = asyncio.create_task(RestartableJob(pool).converse(asking, 4, answers=answering(answer)))
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
        await RestartableJob(pool).converse(asking, 1, answers=answering(answer))


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

    job = asyncio.create_task(RestartableJob(pool).converse(asking, 5, answers=answering(answer)))
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

    job = RestartableJob(pool)
    with pytest.raises(LookupError, match="none"):
        await job.call("a", answer)
    gc.collect()

    assert not answers


async def test_a_job_that_ends_in_the_server_leaves_no_cycle(pool: WorkerPool) -> None:
    """Free a job with its answers at once, without the garbage collector."""

    async def answer() -> bytes:
        return b"x"

    gc.disable()
    try:
        job = RestartableJob(pool)
        jobs = weakref.WeakSet([job])
        assert await job.call("a", answer, len) == b"x"
        del job
        left = len(jobs)
    finally:
        gc.enable()

    assert not left


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

    job = asyncio.create_task(RestartableJob(pool).converse(asking, 1, answers=answering(answer)))
    await began.wait()
    job.cancel()
    await ended.wait()
    with pytest.raises(asyncio.CancelledError):
        await job


async def test_continues_what_began_in_the_server(pool: WorkerPool) -> None:
    """Give a job the answers that an attempt in the server had, by their keys, and call on."""
    asked = list[str]()

    async def answer(number: int, where: str = "worker") -> int:
        asked.append(f"{where} {number}")
        return number

    job = RestartableJob(pool)
    assert await job.call(1, lambda: answer(1, "server")) == 1
    assert await job.call(0, lambda: answer(0, "server")) == 0
    assert await job.call(1, lambda: answer(1, "again")) == 1

    assert await job.converse(asking, 4, answers=answering(answer)) == [0, 1, 2, 3]
    assert asked == ["server 1", "server 0", "worker 2", "worker 3"]


async def test_calls_aside_are_made_anew(pool: WorkerPool) -> None:
    """Keep no answer for a job that does not start again."""
    asked = list[int]()

    async def answer(number: int) -> int:
        asked.append(number)
        return number

    log = CallsAside(pool)
    assert [await log.call("key", partial(answer, number)) for number in range(2)] == [0, 1]
    assert asked == [0, 1]
