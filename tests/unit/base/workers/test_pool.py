"""The pool of worker processes: results, errors, questions, deadlines, memory and the end of processes."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable
from typing import Protocol, cast

import pytest

from apiext.base.meta import limits
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.base.workers.free_memory import resident_bytes, trimmer
from apiext.base.workers.pool import WorkerPool
from apiext.base.workers.process_supply import Worker
from apiext.base.workers.server_link import Job, ServerLink, answers_of
from apiext.base.workers.template import forked_template
from apiext.storage.backend import CompactedError
from tests.support.event_loop import until
from tests.support.refusals import refusal
from tests.unit.base.workers.jobs import Waiting, begun, ended, endless, joined, state

KEPT_BYTES = 3 << 20


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Return a pool of one process at a time, however long jobs take."""
    pool = WorkerPool(processes=1, long=0)
    yield pool
    await pool.close()


def failing(error: Exception) -> None:
    """Raise an error."""
    raise error


def unpicklable() -> object:
    """Return what cannot leave the process."""
    return lambda: None


def grown(pinned: list[bytes] = []) -> int:  # noqa: B006 -- it survives the job
    """Return the bytes of the process after work that leaves much free memory below a small piece that is in use."""
    pieces = [bytes(1000) for _ in range(100_000)]
    pinned.append(pieces[-1])
    del pieces
    return resident_bytes()


def greedy() -> int:
    """Need more memory than a worker may have."""
    return len(bytearray(limits.MAX_WORKER_BYTES))


def greedy_json() -> object:
    """Parse more JSON than a worker has memory for."""
    resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
    return json_codec.loads(b"[" + b"0," * (32 << 20) + b"0]")


def large() -> int:
    """Need more memory than an idle worker may have used."""
    bytearray(b"x" * limits.MAX_IDLE_WORKER_BYTES)
    return os.getpid()


class Numbers(Protocol):
    """What jobs may call in the server."""

    async def next(self, value: int) -> int:
        """Return another number."""
        ...


async def question(link: ServerLink, user: str) -> str:
    """Ask the server, which takes long."""
    return link.ask(Waiting.wait, user)


def limit() -> int:
    """Return the limit of the process on its memory."""
    return resource.getrlimit(resource.RLIMIT_DATA)[0]


async def doubled(link: ServerLink, number: int) -> tuple[int, int]:
    """Ask for a number, then for its double. Return both."""
    first = link.ask(Numbers.next, number)
    return first, link.ask(Numbers.next, value=2 * first)


async def kept(link: ServerLink) -> int:
    """Count the jobs of the process."""
    link.kept["jobs"] = link.kept.get("jobs", 0) + 1
    return int(link.kept["jobs"])


async def is_told_of_the_end(link: ServerLink) -> object:
    """Ask a question whose request ends meanwhile, and leave a note about it for the next job."""
    try:
        return link.ask(Waiting.wait, "a")
    except asyncio.CancelledError:
        link.kept["jobs"] = 99
        raise


async def test_runs_a_function_in_another_process(pool: WorkerPool) -> None:
    """Return the result, and use the process again."""
    pid, data = await pool.call(joined, b"a" * KEPT_BYTES, b"b")
    again, _ = await pool.call(joined)

    assert pid == again != os.getpid()
    assert data == b"a" * KEPT_BYTES + b"b"
    assert (pool.running, pool.waiting, pool.killed) == (0, 0, 0)


@pytest.mark.parametrize("error", [StatusError(422, "Invalid", "no", {"causes": []}), CompactedError(7), KeyError("a")])
async def test_raises_what_the_function_raised(pool: WorkerPool, error: Exception) -> None:
    """Raise exceptions with their attributes, whatever their constructors need, and note where they come from."""
    with pytest.raises(type(error)) as raised:
        await pool.call(failing, error)

    assert str(raised.value) == str(error)
    assert {name: value for name, value in vars(raised.value).items() if name != "__notes__"} == vars(error)
    assert "in failing" in raised.value.__notes__[0]


async def test_a_result_that_cannot_be_copied_is_an_error(pool: WorkerPool) -> None:
    """Raise the pickling error, and keep the process."""
    with pytest.raises(Exception, match="local object"):
        await pool.call(unpicklable)

    assert (await pool.call(joined, b"a"))[1] == b"a"


async def test_a_job_asks_the_server(pool: WorkerPool) -> None:
    """Answer the questions of a job; an error of the answer is raised in the job."""

    class Next:
        async def next(self, value: int) -> int:
            if value > 9:
                raise StatusError(404, "NotFound", "too large")
            return value + 1

    numbers: Numbers = Next()
    assert await pool.converse(doubled, 3, answers=answers_of(Numbers, numbers)) == (4, 9)
    with pytest.raises(StatusError, match="too large"):
        await pool.converse(doubled, 5, answers=answers_of(Numbers, numbers))


@pytest.mark.parametrize("job", [greedy, greedy_json])
async def test_a_job_that_needs_too_much_memory_fails(pool: WorkerPool, job: Callable[[], object]) -> None:
    """Answer 413, and start a new process for the next job."""
    pid, _ = await pool.call(joined)

    with pytest.raises(StatusError, match="memory") as refused:
        await pool.call(job)

    assert refused.value.code == 413
    assert (await pool.call(joined))[0] != pid
    # besides what it shares with the server
    assert limits.MAX_WORKER_BYTES <= await pool.call(limit) < 2 * limits.MAX_WORKER_BYTES


async def test_a_large_process_is_replaced(pool: WorkerPool) -> None:
    """End a process after a job that used much memory."""
    pid = await pool.call(large)

    assert (await pool.call(joined))[0] != pid


async def test_a_killed_process_fails_its_job_only(pool: WorkerPool, caplog: pytest.LogCaptureFixture) -> None:
    """Answer 500 if the process is killed, log it, and start a new one."""
    pid, _ = await pool.call(joined)
    job = await begun(pool)
    os.kill(pid, signal.SIGKILL)

    with pytest.raises(StatusError, match="ended unexpectedly") as failed:
        await job

    assert failed.value.code == 500
    assert (await pool.call(joined))[0] != pid
    await pool.close()
    assert [record.message for record in caplog.records] == ["worker process ended unexpectedly"]


async def test_a_process_that_died_while_idle_is_replaced(pool: WorkerPool) -> None:
    """Run a job in a new process if the idle one is gone."""
    pid, _ = await pool.call(joined)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pool.supply.idle)

    assert (await pool.call(joined))[0] != pid


async def test_the_process_of_a_cancelled_job_is_killed(caplog: pytest.LogCaptureFixture) -> None:
    """Kill the process of a job that does not end after its caller was cancelled, and run the next job in a new one."""
    pool = WorkerPool(processes=1, grace=0.0)
    pid, _ = await pool.call(joined)
    job = await begun(pool)
    following = asyncio.ensure_future(pool.call(joined))
    await asyncio.sleep(0)
    job.cancel()

    assert (await following)[0] != pid
    assert job.cancelled()
    assert pool.killed == 1
    assert [record.message for record in caplog.records] == ["worker process killed, its job ran past the deadline"]
    await pool.close()


async def test_a_cancelled_job_that_asks_ends_without_a_kill(pool: WorkerPool) -> None:
    """Raise CancelledError in a job that waits for an answer, and keep the process."""
    asked = asyncio.Event()

    async def slow(_user: str) -> None:
        asked.set()
        await asyncio.Event().wait()

    job = asyncio.ensure_future(pool.converse(is_told_of_the_end, answers={Waiting.wait: slow}))
    await asked.wait()
    job.cancel()

    assert await pool.converse(kept, answers={}) == 100
    assert job.cancelled()
    assert pool.killed == 0


async def test_long_jobs_of_one_user_do_not_stop_others() -> None:
    """Leave a process for other users, however many jobs one user has."""
    pool = WorkerPool(processes=2)
    hostile = [asyncio.ensure_future(pool.call(endless, user="a")) for _ in range(5)]

    assert (await pool.call(joined, b"x", user="b"))[1] == b"x"
    assert (pool.running, pool.waiting) == (1, 4)

    await pool.close()
    failures = await asyncio.gather(*hostile, return_exceptions=True)
    assert {type(failure) for failure in failures} == {StatusError}


async def test_a_long_job_is_killed() -> None:
    """Answer 504 if a job takes longer than any may."""
    pool = WorkerPool(processes=1, job_seconds=0.01, grace=0.0)

    failed = await refusal(pool.call(endless))

    assert failed.code == 504
    await pool.close()
    assert pool.killed == 1


async def test_the_memory_of_the_server_does_not_count(pool: WorkerPool) -> None:
    """Use a process again that a large server started."""
    memory = b"x" * limits.MAX_IDLE_WORKER_BYTES

    first, _ = await pool.call(joined)

    assert (await pool.call(joined, bytes(memory[:1])))[0] == first


async def test_idle_processes_end() -> None:
    """End a process that got no job for some time."""
    pool = WorkerPool(processes=1, idle_seconds=0.0)
    pid, _ = await pool.call(joined)

    await until(lambda: ended(pid))
    assert not pool.supply.idle
    await pool.close()


async def test_close_in_the_turn_in_which_work_ends() -> None:
    """Close although the callbacks of work that has ended have not run."""
    pool = WorkerPool(processes=1)
    ended_work = pool.supply.do(asyncio.sleep(0))

    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert ended_work.done()
    await pool.close()


async def test_close_ends_running_jobs() -> None:
    """End the processes in the middle of jobs, and refuse later jobs."""
    pool = WorkerPool(processes=1)
    await pool.call(joined)
    job = await begun(pool)

    await pool.close()

    with pytest.raises(StatusError, match="unexpectedly"):
        await job
    refused = await refusal(pool.call(joined))
    assert refused.code == 503


class _Held(Worker):
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = cast("asyncio.Transport", transport)
        super().connection_made(transport)


async def test_processes_end_with_the_server() -> None:
    """End a process in the middle of a job when its connection closes, as it does when the server is killed."""
    template = forked_template()
    worker = await _Held.start(template)
    assert isinstance(worker, _Held)
    assert await worker.begin(Job(endless, (), asks=False), {})
    running = asyncio.ensure_future(worker.run())

    worker.transport.abort()

    with pytest.raises(StatusError, match="unexpectedly"):
        await running
    await until(lambda: state(worker.pid) == "Z")
    assert await worker.end() == 0
    await template.close()


async def test_a_job_that_waits_for_another_server_blocks_no_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run other jobs while some wait for long; refuse the wait of one more with 429."""
    monkeypatch.setattr(limits, "MAX_BLOCKED_WORKER_SECONDS", 0.01)
    monkeypatch.setattr(limits, "MAX_WORKERS_ASIDE", 1)
    pool, gate, waiting = WorkerPool(processes=1), asyncio.Event(), list[str]()

    async def answer(user: str) -> str:
        async def wait() -> str:
            waiting.append(user)
            await gate.wait()
            return user

        return await pool.wait_aside(wait())

    first = asyncio.create_task(pool.converse(question, "a", answers={Waiting.wait: answer}, user="a"))
    await until(lambda: waiting == ["a"])
    assert (await pool.call(joined, b"x"))[1] == b"x"
    refused = await refusal(pool.converse(question, "b", answers={Waiting.wait: answer}, user="b"))
    assert refused.code == 429
    assert not first.done()
    gate.set()
    assert await first == "a"
    assert pool.running == 0
    await pool.close()


@pytest.mark.skipif(trimmer() is None, reason="only glibc returns free memory on request")
async def test_processes_that_wait_keep_no_free_memory(pool: WorkerPool) -> None:
    """A process returns the memory of a large job before the next one."""
    most = await pool.call(grown)

    assert await pool.call(resident_bytes) < most - (32 << 20)
