"""The server's end of one worker process."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, cast

from apiext.meta import errors
from apiext.workers.frames import Frames, JobReport, frame
from apiext.workers.server_link import Job, JobAnswer

if TYPE_CHECKING:
    from apiext.workers.server_link import Answers, JobQuestion

_GONE: Final = object()
_COMMAND: Final = ("-P", "-m", "apiext.workers.process")


class Worker(asyncio.Protocol):
    """A process that runs one job at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.busy = False
        """Whether a job runs."""
        self.leaving = False
        """Whether the process ends, or has ended, and gets no further job."""
        self.lost = False
        """Whether the process has ended by itself."""
        self._transport: asyncio.Transport | None = None
        self._reports: asyncio.Queue[Any] = asyncio.Queue()
        self._frames = Frames(self._reports.put_nowait)
        self._asked = False
        self._answers: Answers = {}
        """Those of the running job."""

    @classmethod
    async def start(cls) -> Worker:
        """Start a process.

        Raises:
            OSError: the system does not allow it.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                worker = cls(_spawn(theirs))
            except OSError:
                ours.close()
                raise
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

    async def run(self, job: Job, answers: Answers) -> Any:
        """Return the result of a job, and answer its questions. After a cancellation, `settle` must follow.

        Raises:
            StatusError: 500, if the process ended.
            BaseException: the job raised it.
        """
        self._send(job)
        self.busy = True
        self._answers = answers
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
            else:
                self.busy, self._answers = False, {}
                return

    async def end(self) -> int:
        """Kill the process if it runs, and return its exit status: the negative number of a signal, if one ended it."""
        self.leaving = True
        self.process.kill()
        if self._transport is not None:
            self._transport.abort()
        return await asyncio.to_thread(self.process.wait)

    def _answer(self, answer: JobAnswer) -> None:
        self._asked = False
        self._send(answer)

    def _send(self, value: Job | JobAnswer) -> None:
        if self._transport is not None:
            self._transport.write(frame(value))


def _spawn(connection: socket.socket) -> subprocess.Popen[bytes]:
    """Start the program of a worker with its end of the connection. Raises OSError."""
    number = connection.fileno()
    return subprocess.Popen(  # noqa: S603 -- the command is ours
        [sys.executable, *_COMMAND, str(number)],
        pass_fds=[number],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


async def _answer(answers: Answers, question: JobQuestion) -> JobAnswer:
    try:
        return JobAnswer(await answers[question.method](*question.args, **question.named))
    except Exception as error:  # noqa: BLE001 -- the job decides what to do about it
        return JobAnswer(error=error)
