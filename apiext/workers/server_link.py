"""A worker's connection to the server that started it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiext.workers.frames import JobReport, frame, receive

if TYPE_CHECKING:
    import socket


@dataclass(frozen=True, slots=True)
class Job:
    """A job for a worker."""

    function: Any
    """A function of a module. With `asks`, it is asynchronous, and the link is its first argument."""
    args: tuple[Any, ...]
    asks: bool


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """The server's answer to a question of a job."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ServerLink:
    """Asks the server on behalf of a job."""

    _connection: socket.socket
    kept: dict[Any, Any] = field(default_factory=dict)
    """Data that jobs keep in this process for later jobs."""

    def ask(self, question: str, *args: Any) -> Any:
        """Return the server's answer to a question. Blocks the process, which has nothing else to do.

        Raises:
            BaseException: the server raised it; CancelledError after the end of the job's request.
            EOFError: the server has ended.
        """
        self._connection.sendall(frame((JobReport.QUESTION, (question, args))))
        answer: JobAnswer = receive(self._connection)
        if answer.error is not None:
            raise answer.error
        return answer.value

    def next_job(self) -> Job:
        """Wait for the next job and return it.

        Raises:
            EOFError: the server has ended.
        """
        job: Job = receive(self._connection)
        return job

    def report(self, result: Any, *, leaving: bool) -> None:
        """Send the result of a job."""
        self._finish(frame((JobReport.RESULT, result)), leaving=leaving)

    def report_error(self, error: BaseException, *, leaving: bool) -> None:
        """Send the exception that ended a job, with its traceback as a note."""
        error.add_note("".join(traceback.format_exception(error)).rstrip())
        try:
            data = frame((JobReport.ERROR, error))
        except Exception:  # noqa: BLE001 -- some exceptions hold what cannot leave the process
            data = frame((JobReport.ERROR, RuntimeError(repr(error))))
        self._finish(data, leaving=leaving)

    def _finish(self, data: bytes, *, leaving: bool) -> None:
        self._connection.sendall(frame((JobReport.LEAVING, None)) + data if leaving else data)
