"""The pool of worker processes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from apiext.meta import errors, limits
from apiext.meta.log import get_logger
from apiext.scheduling.tasks import shared_task
from apiext.workers.fair_slots import FairSlots
from apiext.workers.server_link import Job
from apiext.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from apiext.workers.server_link import Answers, ServerLink

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_GRACE: Final = 1.0
"""Seconds in which a job may end after its caller was cancelled: a new process costs about as much."""
_LOG: Final = get_logger(__name__)


class WorkerPool:
    """Runs functions in worker processes, which start on demand and end when idle.

    Arguments and results are copied: large ones must be bytes, since the event loop pickles them.

    Raises:
        StatusError: from `call` and `converse`: 413 if the job needs too much memory, 429 if too many jobs of the user wait, 500 if its
            process ended, 503 after `close`, 504 if the job takes longer than MAX_JOB_SECONDS.
    """

    def __init__(
        self,
        *,
        processes: int = limits.MAX_WORKERS,
        waiting: int = limits.MAX_WAITING_JOBS,
        idle_seconds: float = limits.WORKER_IDLE_SECONDS,
        job_seconds: float = limits.MAX_JOB_SECONDS,
        grace: float = _GRACE,
    ) -> None:
        self.killed = 0
        """Processes that were killed in the middle of a job."""
        self._slots = FairSlots(slots=processes, waiting=waiting)
        self._idle: dict[Worker, asyncio.TimerHandle] = {}
        self._idle_seconds = idle_seconds
        self._job_seconds = job_seconds
        self._grace = grace
        self._working: set[Worker] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._aside = 0

    @property
    def running(self) -> int:
        """Return the number of running jobs."""
        return self._slots.taken

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return self._slots.waiting

    async def call(self, function: Callable[[*Ts], T], *args: *Ts, user: str = "") -> T:
        """Run a function of a module in a worker process and return its result. The job counts for `user`; "" is the server itself.

        If the caller is cancelled, the pool drops a waiting job, and kills a running one after a short time.

        Raises:
            Exception: the function raised it.
        """
        result: T = await self._run(Job(function, args, asks=False), {}, user)
        return result

    async def converse(
        self, function: Callable[[ServerLink, *Ts], Coroutine[Any, Any, T]], *args: *Ts, answers: Answers, user: str = ""
    ) -> T:
        """Run a coroutine function in a worker process; `answers` has the methods that it may call by its ServerLink.

        Raises:
            Exception: the function raised it.
        """
        result: T = await self._run(Job(function, args, asks=True), answers, user)
        return result

    async def wait_aside(self, waiting: Awaitable[T], user: str) -> T:
        """Await `waiting` for a running job of a user, and return its result. If that takes long, another job runs meanwhile.

        Raises:
            StatusError: 429, if too many jobs wait this way.
            Exception: `waiting` raised it.
        """
        task = shared_task(_awaited(waiting))
        try:
            await asyncio.wait([task], timeout=limits.MAX_BLOCKED_WORKER_SECONDS)
            if not task.done():
                if self._aside >= limits.MAX_WORKERS_ASIDE:
                    raise errors.too_many_requests("too many large requests wait for other servers, please try again later", 1)
                self._aside += 1
                self._slots.release(user)
                try:
                    await asyncio.wait([task])
                finally:
                    self._slots.resume(user)
                    self._aside -= 1
            return task.result()
        finally:
            task.cancel()
            # avoid a reference cycle through the traceback of the task's exception
            del task

    async def _run(self, job: Job, answers: Answers, user: str) -> Any:
        await self._slots.acquire(user)
        try:
            worker = await self._take()
        except BaseException:
            self._slots.release(user)
            raise
        limit = asyncio.timeout(self._job_seconds)
        try:
            async with limit:
                return await worker.run(job, answers)
        except TimeoutError as error:
            if limit.expired():
                raise errors.timeout("the request needs too much processor time") from error
            raise
        finally:
            self._do(self._finish(worker, job, user)) if worker.busy else self._put_back(worker, user)

    async def _take(self) -> Worker:
        """Return an idle worker, or a new one."""
        if self._closed:
            raise errors.service_unavailable("the server is shutting down")
        while self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
            if not worker.leaving:
                self._working.add(worker)
                return worker
            self._do(self._end(worker))
        starting = self._do(Worker.start())
        try:
            worker = await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._do(self._end_started(starting))
            raise
        except OSError as error:
            raise errors.internal(f"cannot start a worker process: {error.strerror}") from error
        self._working.add(worker)
        return worker

    async def _end_started(self, starting: asyncio.Task[Worker]) -> None:
        await self._end(await starting)

    async def _finish(self, worker: Worker, job: Job, user: str) -> None:
        """Wait a short time for the end of a cancelled job, then kill its process."""
        try:
            async with asyncio.timeout(self._grace):
                await worker.settle()
        except TimeoutError:
            self.killed += 1
            _LOG.warning("worker process killed, its job ran past the deadline", pid=worker.process.pid, job=job.function.__qualname__)
            await worker.end()
        self._put_back(worker, user)

    def _put_back(self, worker: Worker, user: str) -> None:
        self._working.discard(worker)
        if worker.leaving or self._closed:
            self._do(self._end(worker))
        else:
            self._idle[worker] = asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, worker)
        self._slots.release(user)

    def _retire(self, worker: Worker) -> None:
        del self._idle[worker]
        self._do(self._end(worker))

    async def _end(self, worker: Worker) -> None:
        lost = worker.lost
        status = await worker.end()
        if lost:
            _LOG.warning("worker process ended unexpectedly", pid=worker.process.pid, status=status)

    def _do(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End all processes; their jobs fail."""
        self._closed = True
        for timer in self._idle.values():
            timer.cancel()
        await asyncio.gather(*map(self._end, (*self._idle, *self._working)))
        self._idle.clear()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def _awaited(waiting: Awaitable[T]) -> T:
    return await waiting
