"""Processes that are ready before they are needed: what stops or ends them stops no job."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from apiext.base.meta import limits
from apiext.base.scheduling.side_thread import aside
from apiext.base.workers import pool as pool_module
from apiext.base.workers import process_supply
from apiext.base.workers.pool import WorkerPool
from tests.support.event_loop import advance, settle, until
from tests.support.refusals import refusal
from tests.unit.base.workers.jobs import begun, ended, joined, state

MODULE = "tests.unit.base.workers.jobs"


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """Return a pool that keeps a process ready, of one process at a time besides long jobs."""
    pool = WorkerPool(processes=1, preload=MODULE)
    pool.fork_on_demand()
    pool.keep_ready()
    await until(lambda: ready(pool))
    yield pool
    await pool.close()


def ready(pool: WorkerPool) -> int:
    """Return the process that is ready, 0 if there is none."""
    worker = pool.supply.ready
    return 0 if worker is None else worker.pid


def template(pool: WorkerPool) -> int:
    """Return the template."""
    found = pool.supply.template
    assert found is not None
    return found.pid


def paused(pid: int) -> None:
    """Stop a process, and return when it has stopped."""
    os.kill(pid, signal.SIGSTOP)


async def test_a_process_is_there_before_the_first_job(pool: WorkerPool) -> None:
    """Run the first job in the process that is ready, and have another one for the next."""
    first = ready(pool)
    job = await begun(pool)

    await until(lambda: ready(pool) not in (0, first))
    assert await pool.call(os.getpid, user="b") != first
    job.cancel()


async def test_processes_share_what_the_server_has_imported(pool: WorkerPool) -> None:
    """Fork processes from a copy of the server, so that they import nothing; the copy has none of its descriptors."""
    begin, end = os.pipe()
    assert await pool.call(modules) >= {"apiext.base.workers.pool", MODULE, __name__}
    os.close(end)

    # no copy of this end is open in the processes
    assert os.read(begin, 1) == b""
    os.close(begin)


def modules() -> set[str]:
    """Return the names of imported modules."""
    import sys

    return set(sys.modules)


@pytest.mark.parametrize("find", [ready, template])
async def test_a_killed_process_is_replaced_without_a_request(pool: WorkerPool, find: Callable[[WorkerPool], int]) -> None:
    """Start another process, or another template, as soon as one is gone."""
    killed = find(pool)
    os.kill(killed, signal.SIGKILL)

    await until(lambda: ended(killed) and find(pool) not in (0, killed))
    await until(lambda: ready(pool))
    assert (await pool.call(joined, b"a"))[1] == b"a"


async def test_the_process_of_a_killed_job_is_replaced_without_a_request(pool: WorkerPool) -> None:
    """Have a process ready after a job was killed."""
    pool.grace = 0.0
    job = await begun(pool)
    (worker,) = pool.working
    job.cancel()

    await until(lambda: ended(worker.pid))
    await until(lambda: ready(pool))
    assert pool.killed == 1


async def test_a_job_does_not_wait_for_a_stopped_process(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a job to another process if the one that is ready does not begin it, and end that one."""
    monkeypatch.setattr(pool_module, "BEGIN_SECONDS", (0.0, 60.0))
    stopped = ready(pool)
    paused(stopped)

    assert (await pool.call(joined))[0] != stopped
    await until(lambda: ended(stopped))


async def test_another_template_starts_what_a_stopped_one_does_not(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the program of a template if the present one does not answer."""
    monkeypatch.setattr(process_supply, "START_SECONDS", 0.01)
    stopped = template(pool)
    paused(stopped)
    job = await begun(pool)

    assert (await pool.call(joined, b"a", user="b"))[1] == b"a"
    assert template(pool) != stopped
    await until(lambda: ended(stopped))
    job.cancel()


async def test_limits_of_inline_work_grow_while_a_start_is_late(pool: WorkerPool) -> None:
    """Stretch the limits only while no process is ready and its start takes long."""
    paused(template(pool))
    before = pool.inline_stretch
    job = await begun(pool)
    soon = pool.inline_stretch
    advance(1.0)
    late = pool.inline_stretch
    os.kill(template(pool), signal.SIGCONT)
    await until(lambda: ready(pool))

    assert (before, soon, late, pool.inline_stretch) == (1, 1, limits.INLINE_STRETCH, 1)
    job.cancel()


async def test_the_deadline_of_a_job_does_not_count_the_start(pool: WorkerPool) -> None:
    """Begin to count when the process has begun the job."""
    pool.job_seconds = 5.0
    paused(template(pool))
    os.kill(ready(pool), signal.SIGKILL)
    await until(lambda: not ready(pool))
    job = asyncio.ensure_future(pool.call(joined, b"a"))
    await until(lambda: pool.running)
    # a template gets ten seconds
    advance(6.0)
    await settle()
    assert not job.done()
    os.kill(template(pool), signal.SIGCONT)

    assert (await job)[1] == b"a"


async def test_a_short_job_does_not_wait_for_a_long_one(pool: WorkerPool) -> None:
    """Run jobs of another kind beside one that does not end, and let those of its kind wait for it."""
    job = await begun(pool, user="a", kind="heavy")
    same = asyncio.ensure_future(pool.call(joined, b"a", user="a", kind="heavy"))

    assert (await pool.call(joined, b"b", user="a", kind="light"))[1] == b"b"
    assert (await pool.call(joined, b"c", user="b", kind="heavy"))[1] == b"c"
    assert not same.done()
    job.cancel()
    assert (await same)[1] == b"a"


async def test_a_process_with_a_low_priority_gets_no_further_job(pool: WorkerPool) -> None:
    """Lower the priority of a process whose job uses much processor time, and end it with this job."""
    short = await pool.call(priority, 0.0)
    long = await pool.call(priority, 2 * limits.MAX_SHORT_JOB_SECONDS)
    after = await pool.call(priority, 0.0)

    assert short == after < long


def priority(seconds: float) -> int:
    """Use processor time, and return the priority of the process."""
    import time

    while time.process_time() < seconds:
        pass
    return os.getpriority(os.PRIO_PROCESS, 0)


async def test_close_ends_all_processes(pool: WorkerPool) -> None:
    """End the template and the process that is ready, and refuse later jobs."""
    pids = ready(pool), template(pool)

    await pool.close()

    await until(lambda: all(state(pid) in ("", "Z") for pid in pids))
    assert (await refusal(pool.call(joined))).code == 503


async def test_the_first_job_forks_the_template() -> None:
    """Fork it in a moment in which no thread works."""
    started, ended = threading.Event(), threading.Event()
    pool = WorkerPool(processes=1)
    pool.fork_on_demand()

    def work() -> None:
        started.set()
        ended.wait()

    working = asyncio.ensure_future(aside(work))
    await until(started.is_set)
    job = asyncio.ensure_future(pool.call(modules))
    await settle()
    assert pool.supply.template is None
    ended.set()

    assert __name__ in await job
    await working
    await pool.close()


async def test_threads_that_do_not_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the program of a template then."""
    monkeypatch.setattr(process_supply, "REST_SECONDS", 0.0)
    ended = threading.Event()
    pool = WorkerPool(processes=1)
    pool.fork_on_demand()
    working = asyncio.ensure_future(aside(ended.wait))
    await settle()

    await pool.call(joined)
    ended.set()
    await working
    is_program = _is_program(template(pool))
    await pool.close()

    assert is_program


def _is_program(pid: int) -> bool:
    return b"template_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
