"""A worker's connection to the server that started it."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from apiext.base.workers.frames import JobReport, frame, receive

if TYPE_CHECKING:
    import socket

_BEGUN: Final = frame((JobReport.BEGUN, None))
I = TypeVar("I")  # noqa: E741 -- an interface
P = ParamSpec("P")
T = TypeVar("T")

Answers = Mapping[Callable[..., Any], Callable[..., Awaitable[Any]]]
"""What the server calls for the methods of interfaces that a job calls."""


def answers_of(interface: Callable[..., I], target: I) -> Answers:
    """Return the answers of an object: jobs may call the methods that the class `interface` itself defines, all asynchronous."""
    return {method: getattr(target, name) for name, method in vars(interface).items() if not name.startswith("_") and callable(method)}


@dataclass(frozen=True, slots=True)
class Job:
    """A job for a worker."""

    function: Any
    """A function of a module. With `asks`, it is asynchronous, and the link is its first argument."""
    args: tuple[Any, ...]
    asks: bool


@dataclass(frozen=True, slots=True)
class JobQuestion:
    """A call of a job, which the server makes: the method of an interface, and its arguments."""

    method: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]


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
    _told: dict[Callable[..., Any], Callable[[], Any]] = field(default_factory=dict)
    """What to tell the server at the end of the job."""

    def ask(self, method: Callable[Concatenate[Any, P], Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        """Return what a method of an interface returns in the server. Blocks the process, which has nothing else to do.

        Raises:
            BaseException: the server raised it; CancelledError after the end of the job's request.
            EOFError: the server has ended.
        """
        self._connection.sendall(frame((JobReport.QUESTION, JobQuestion(method, args, named))))
        answer: JobAnswer = receive(self._connection)
        if answer.error is not None:
            raise answer.error
        found: T = answer.value
        return found

    def tell_at_end(self, method: Callable[[Any, T], Awaitable[None]], take: Callable[[], T]) -> None:
        """Call a method of an interface in the server at the end of the job, with what `take` returns then, unless it is empty."""
        self._told[method] = take

    def next_job(self) -> Job:
        """Wait for the next job, report its beginning, and return it.

        Raises:
            EOFError: the server has ended.
        """
        job: Job = receive(self._connection, begun=lambda: self._connection.sendall(_BEGUN))
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
        told = [(JobReport.NOTICE, JobQuestion(method, (value,), {})) for method, take in self._told.items() if (value := take())]
        self._told.clear()
        if leaving:
            data = frame((JobReport.LEAVING, None)) + data
        self._connection.sendall(b"".join([*map(frame, told), data]) if told else data)
