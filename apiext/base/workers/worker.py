"""The server's end of one worker process."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any, Final, cast

from apiext.base.meta import errors
from apiext.base.workers.frames import Frames, JobReport, frame
from apiext.base.workers.server_link import Job, JobAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.workers.server_link import Answers, JobQuestion
    from apiext.base.workers.template import WorkerTemplate

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
