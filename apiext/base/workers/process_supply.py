"""Worker processes that wait for jobs: one is ready before it is needed, further ones end when idle."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.side_thread import at_rest
from apiext.base.workers.frames import Frames, JobReport, frame
from apiext.base.workers.server_link import Job, JobAnswer
from apiext.base.workers.template import TemplateLostError, WorkerTemplate, forked_template, spawned_template

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from apiext.base.workers.server_link import Answers, JobQuestion

T = TypeVar("T")

START_SECONDS: Final = 10.0
"""Seconds in which a template must start a process; then another template does. It usually takes some milliseconds."""
_TEMPLATES: Final = 3
"""Templates that are tried for one process."""
_LATE_SECONDS: Final = 0.1
"""Seconds after which a start is late."""
_RETRY_SECONDS: Final = 1.0
"""Seconds until a start that the system does not allow is tried again."""
_END_SECONDS: Final = 1.0
"""Seconds in which a template must end processes when it ends itself."""
REST_SECONDS: Final = 0.5
"""Seconds until threads that do not rest are a reason to start a program, which takes as long, instead of a fork."""
_LOG: Final = get_logger(__name__)


_GONE: Final = object()


class Worker(asyncio.Protocol):
    """A process that runs one job at a time."""

    def __init__(self) -> None:
        self.pid = 0
        self.busy = False
        """Whether a job runs, or is being sent."""
        self.leaving = False
        """Whether the process ends, or has ended, and gets no further job."""
        self.lost = False
        """Whether the process has ended by itself."""
        self.on_loss: Callable[[], None] = _ignore
        """Called when the process has ended by itself."""
        self._template: WorkerTemplate | None = None
        self._ended: asyncio.Future[int | None] | None = None
        self._transport: asyncio.Transport | None = None
        self._reports: asyncio.Queue[Any] = asyncio.Queue()
        self._frames = Frames(self._reports.put_nowait)
        self._asked = False
        self._answers: Answers = {}
        """Those of the running job."""

    @classmethod
    async def start(cls, template: WorkerTemplate) -> Worker:
        """Start a process.

        Raises:
            OSError: the system does not allow it; TemplateLostError.
        """
        worker = cls()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                worker.pid = await template.start(theirs)
        except BaseException:
            ours.close()
            raise
        worker._template = template
        await asyncio.get_running_loop().connect_accepted_socket(lambda: worker, ours)
        return worker

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Implement asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Implement asyncio.Protocol."""
        self._frames.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Implement asyncio.Protocol."""
        self.lost = not self.leaving
        self.leaving = True
        self._reports.put_nowait((_GONE, None))
        if self.lost:
            self.on_loss()

    async def begin(self, job: Job, answers: Answers) -> bool:
        """Send a job, and return whether the process has begun it. If not, it has ended. `run` must follow, or after an error `settle`."""
        self._send(job)
        self.busy, self._answers = True, answers
        report, _ = await self._reports.get()
        self.busy = report is JobReport.BEGUN
        return self.busy

    async def run(self) -> Any:
        """Return the result of the job that has begun, and answer its questions. After a cancellation, `settle` must follow.

        Raises:
            StatusError: 500, if the process ended.
            BaseException: the job raised it.
        """
        answers = self._answers
        while True:
            report, value = await self._reports.get()
            if report is JobReport.QUESTION:
                self._asked = True
                self._answer(await _answer(answers, value))
                continue
            if report is JobReport.NOTICE:
                await _answer(answers, value)
                continue
            if report is JobReport.LEAVING:
                self.leaving = True
                continue
            self.busy, self._answers = False, {}
            if report is JobReport.RESULT:
                return value
            try:
                raise value if report is JobReport.ERROR else errors.internal("the worker process of the request ended unexpectedly")
            finally:
                # the error refers to this frame
                del value

    async def settle(self) -> None:
        """Wait until a cancelled job has ended. Answer its questions with CancelledError."""
        cancelled = JobAnswer(error=asyncio.CancelledError())
        if self._asked:
            self._answer(cancelled)
        while True:
            report, value = await self._reports.get()
            if report is JobReport.QUESTION:
                self._answer(cancelled)
            elif report is JobReport.NOTICE:
                await _answer(self._answers, value)
            elif report is JobReport.LEAVING:
                self.leaving = True
            elif report is not JobReport.BEGUN:
                self.busy, self._answers = False, {}
                return

    async def end(self) -> int | None:
        """Kill the process if it runs, and return its exit status: the negative number of a signal, if one ended it; None if unknown."""
        self.leaving = True
        if self._ended is None and self._template is not None:
            # once: its id may belong to another process later
            self._ended = self._template.end(self.pid)
        if self._transport is not None:
            self._transport.abort()
        return None if self._ended is None else await asyncio.shield(self._ended)

    def _answer(self, answer: JobAnswer) -> None:
        self._asked = False
        self._send(answer)

    def _send(self, value: Job | JobAnswer) -> None:
        if self._transport is not None:
            self._transport.write(frame(value))


def _ignore() -> None:
    pass


async def _answer(answers: Answers, question: JobQuestion) -> JobAnswer:
    try:
        return JobAnswer(await answers[question.method](*question.args, **question.named))
    except Exception as error:  # noqa: BLE001 -- the job decides what to do about it
        return JobAnswer(error=error)


class ProcessSupply:
    """Starts and ends processes, and keeps those that have no job."""

    def __init__(self, preload: str, idle_seconds: float) -> None:
        """Start processes on demand until `keep_ready`. `preload` is a module for new templates."""
        self._preload = preload
        self._idle_seconds = idle_seconds
        self.ready: Worker | None = None
        """A process without any memory of jobs."""
        self.idle: dict[Worker, asyncio.TimerHandle] = {}
        """Processes that have worked, with the timers of their ends."""
        self.template: WorkerTemplate | None = None
        """What starts processes; None before the first one."""
        self.forks = False
        """Whether the first template is a fork of this process."""
        self._keeps = False
        self._preparing: asyncio.Task[None] | None = None
        self._late_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def is_late(self) -> bool:
        """Return whether a process should be ready and none is for some time, so that a job would wait for a start."""
        return not self._has_process and self._preparing is not None and asyncio.get_running_loop().time() > self._late_at

    @property
    def _has_process(self) -> bool:
        return self.ready is not None or bool(self.idle)

    def keep_ready(self) -> None:
        """Keep a process ready from now on."""
        self._keeps = True
        self._prepare()

    async def take(self) -> Worker:
        """Return a process without a job, or a new one.

        Raises:
            StatusError: 500, if the system does not allow a new one; 503 after `close`.
        """
        worker = self._take_present()
        self._prepare()
        if worker is not None:
            return worker
        if self._closed:
            raise errors.service_unavailable("the server is shutting down")
        starting = self.do(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            self.do(self._keep_started(starting))
            raise
        except OSError as error:
            raise errors.internal(f"cannot start a worker process: {error.strerror}") from error

    def put_back(self, worker: Worker) -> None:
        """Keep a process for the next job, or replace it if it leaves."""
        if worker.leaving or self._closed:
            self.do(self._end(worker))
            self._prepare()
        else:
            self.idle[worker] = asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, worker)

    def do(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do work that `close` waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self, working: Iterable[Worker]) -> None:
        """End the template and all processes, those that work too."""
        self._closed = True
        if self._preparing is not None:
            self._preparing.cancel()
        for timer in self.idle.values():
            timer.cancel()
        ready = [self.ready] if self.ready is not None else []
        ends = [asyncio.ensure_future(self._end(worker)) for worker in (*ready, *self.idle, *working)]
        self.ready = None
        self.idle.clear()
        if self.template is not None:
            if ends:
                await asyncio.wait(ends, timeout=_END_SECONDS)
            await self.template.close()
            self.template = None
        await asyncio.gather(*ends)
        while tasks := set(self._tasks):
            await asyncio.gather(*tasks, return_exceptions=True)
            # gather does not wait for the callbacks of tasks that are done, from Python 3.12 on
            self._tasks -= tasks

    # --- starts ---------------------------------------------------------------------------------------------------------

    def _take_present(self) -> Worker | None:
        """Return a process that has no job, if there is one: rather one that has worked, and keeps what it has compiled."""
        if self.idle:
            worker, timer = self.idle.popitem()
            timer.cancel()
            return worker
        ready, self.ready = self.ready, None
        return ready

    def _prepare(self) -> None:
        """Start a process in advance if none is ready."""
        if self._keeps and self._preparing is None and not self._has_process and not self._closed:
            self._late_at = asyncio.get_running_loop().time() + _LATE_SECONDS
            self._preparing = self.do(self._start_ready())
            self._preparing.add_done_callback(self._on_prepared)

    async def _start_ready(self) -> None:
        while True:
            try:
                self.ready = await self._start()
            except OSError as error:
                _LOG.warning("worker process not started, retrying", error=str(error), retry_after=_RETRY_SECONDS)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    def _on_prepared(self, _: asyncio.Task[None]) -> None:
        self._preparing = None

    async def _start(self) -> Worker:
        """Start a process, with another template if the present one is lost or does not answer. Raises OSError."""
        for _ in range(_TEMPLATES):
            if self.template is None:
                await self._make_template()
            template = self.template
            if template is None:
                break
            try:
                async with asyncio.timeout(START_SECONDS if template.ready else None):
                    worker = await Worker.start(template)
            except (TimeoutError, TemplateLostError):
                if self.template is template:
                    self._replace_template()
            else:
                worker.on_loss = partial(self._on_loss, worker)
                return worker
        raise TemplateLostError

    async def _make_template(self) -> None:
        """Fork the first template, or start its program. Raises OSError."""
        if self.forks:
            try:
                await at_rest(self._fork_template, REST_SECONDS)
            except OSError as error:
                _LOG.warning("template of worker processes not forked, starting its program", error=str(error) or "threads are busy")
        if self.template is None:
            self._replace_template()

    def _fork_template(self) -> None:
        if self.template is None and not self._closed:
            self.template = forked_template()
            self.template.on_loss = self._replace_template
            self.forks = False

    def _replace_template(self) -> None:
        """Start the program of a template. Raises OSError."""
        if self._closed:
            return
        if (former := self.template) is not None:
            self.template = None
            _LOG.warning("template of worker processes lost, starting another one", pid=former.pid)
            self.do(former.close())
        self.template = spawned_template(self._preload)
        self.template.on_loss = self._replace_template

    async def _keep_started(self, starting: asyncio.Task[Worker]) -> None:
        """Keep the process of a job that was cancelled meanwhile."""
        try:
            worker = await starting
        except OSError:
            return
        self.put_back(worker)

    # --- ends -----------------------------------------------------------------------------------------------------------

    def _on_loss(self, worker: Worker) -> None:
        """Replace a process that ended while it had no job."""
        if worker is self.ready:
            self.ready = None
        elif (timer := self.idle.pop(worker, None)) is not None:
            timer.cancel()
        else:
            # its job notices
            return
        self.put_back(worker)

    def _retire(self, worker: Worker) -> None:
        del self.idle[worker]
        worker.leaving = True
        self.put_back(worker)

    async def _end(self, worker: Worker) -> None:
        lost = worker.lost
        status = await worker.end()
        if lost:
            _LOG.warning("worker process ended unexpectedly", pid=worker.pid, status=status)
