"""Jobs that do not hold their process while the server waits for another one: they end, and start again later."""

from __future__ import annotations

import asyncio
import copy
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from apiext.meta import limits
from apiext.scheduling.tasks import shared_task
from apiext.scheduling.tracebacks import without_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from apiext.workers.pool import WorkerPool
    from apiext.workers.server_link import ServerLink
    from apiext.workers.worker import Answers

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class LateAnswerError(Exception):
    """The answer to a question of a job takes long."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A value, or the error that was raised instead."""

    value: Any = None
    error: Exception | None = None

    def given(self) -> Any:
        """Return the value, or raise the error.

        A copy of it is raised: the kept one would hold the frames of all who raised it.
        """
        if self.error is not None:
            raise copy.copy(self.error)
        return self.value


class KeptAnswers:
    """The answers to each question of a job, in the order in which a run asks. The first run may be in the server (`recording`)."""

    def __init__(self, workers: WorkerPool, answers: Answers) -> None:
        self._workers = workers
        self._answers = answers
        self._tasks: dict[str, list[asyncio.Task[_Answer]]] = {question: [] for question in answers}
        self._room = limits.MAX_KEPT_ANSWER_BYTES

    def of_run(self) -> Answers:
        """Return the answers for another run of the job: those that were given before, and new ones."""
        return {question: self._of_run(question) for question in self._answers}

    def _of_run(self, question: str) -> Callable[..., Awaitable[Any]]:
        places, given, find = count(), self._tasks[question], self._answers[question]

        async def answer(*args: Any) -> Any:
            place = next(places)
            if place >= len(given):
                if self._room < 0:
                    return await self._workers.wait_aside(find(*args), "")
                given.append(shared_task(self._kept(find(*args))))
            task = given[place]
            done, _ = await asyncio.wait([task], timeout=limits.MAX_BLOCKED_RENDERING_SECONDS)
            if not done:
                raise LateAnswerError
            return task.result().given()

        return answer

    async def _kept(self, finding: Awaitable[Any]) -> _Answer:
        # the context of the task would refer to the one who keeps the task
        _RECORDING.set(None)
        try:
            found = await finding
        except Exception as error:  # noqa: BLE001 -- the job decides what to do about it
            return _Answer(error=without_frames(error))
        self._room -= len(found) if isinstance(found, bytes) else 0
        return _Answer(found)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep what `recorded` returns in the block."""
        token = _RECORDING.set(self)
        try:
            yield
        finally:
            _RECORDING.reset(token)

    async def record(self, question: str, finding: Awaitable[T]) -> T:
        """Return an answer and keep it."""
        if self._room < 0:
            return await finding
        task = shared_task(self._kept(finding))
        self._tasks[question].append(task)
        found: T = (await task).given()
        return found

    async def wait(self) -> None:
        """Return when all answers are there."""
        await asyncio.wait([task for given in self._tasks.values() for task in given])

    def cancel(self) -> None:
        """Cancel the answers that are not there."""
        for given in self._tasks.values():
            for task in given:
                task.cancel()


_RECORDING: Final[ContextVar[KeptAnswers | None]] = ContextVar("recording", default=None)


async def recorded(question: str, finding: Awaitable[T]) -> T:
    """Return the answer to a question; a run in the server keeps it for the one in a worker process that follows."""
    kept = _RECORDING.get()
    return await (finding if kept is None else kept.record(question, finding))


async def converse_again(
    workers: WorkerPool, function: Callable[[ServerLink, *Ts], Coroutine[Any, Any, T]], *args: *Ts, answers: KeptAnswers
) -> T:
    """Run a job of the server as `WorkerPool.converse` does, but end it where an answer takes long, and start it again with that.

    All runs of the job must ask a question with the same arguments in the same order. A job whose answers are many bytes keeps its process.

    Raises:
        Exception: what the function raised.
    """
    try:
        while True:
            try:
                return await workers.converse(function, *args, answers=answers.of_run())
            except LateAnswerError:
                await answers.wait()
    finally:
        answers.cancel()
