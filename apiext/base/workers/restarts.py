"""Jobs that do not hold their process while the server waits for another one: they end, and start again later."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from apiext.base.meta import limits
from apiext.base.scheduling.tasks import shared_task
from apiext.base.scheduling.tracebacks import without_frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable

    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import Answers, ServerLink

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class LateAnswerError(Exception):
    """The answer to a call of a job takes long."""


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


class RestartableJob:
    """A job with its calls and their answers. It may begin in the server, and starts again in a worker process when an answer is late.

    Implements CallLog for the attempt in the server. A job whose answers are many bytes keeps its process for further ones.
    """

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._answers: dict[Hashable, asyncio.Task[_Answer]] = {}
        self._room = limits.MAX_KEPT_ANSWER_BYTES

    async def call(self, key: Hashable, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None = None) -> T:
        """Implement CallLog.call: return the answer when it is there."""
        task = self.answer(key, make, size)
        if task is None:
            return await make()
        found: T = (await task).given()
        return found

    def answer(
        self, key: Hashable, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None = None
    ) -> asyncio.Task[_Answer] | None:
        """Return the answer to a call, which begins if it is new; None for a new call whose answer cannot be kept."""
        task = self._answers.get(key)
        if task is None and self._room >= 0:
            task = self._answers[key] = shared_task(self._kept(make, size))
        return task

    async def _kept(self, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None) -> _Answer:
        try:
            found = await make()
        except Exception as error:  # noqa: BLE001 -- the job decides what to do about it
            return _Answer(error=without_frames(error))
        if size is not None:
            self._room -= size(found)
        return _Answer(found)

    async def converse(
        self,
        function: Callable[[ServerLink, *Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        answers: Callable[[CallLog], Answers],
        kind: Hashable = None,
    ) -> T:
        """Run a function as `WorkerPool.converse` does, as often as an answer is late.

        `answers` returns what an attempt may call in the server, and calls other servers by the log.

        Raises:
            Exception: what the function raised.
        """
        given = answers(_WorkerAttempt(self, self._workers))
        try:
            while True:
                try:
                    return await self._workers.converse(function, *args, answers=given, kind=kind)
                except LateAnswerError:
                    await asyncio.wait(self._answers.values())
        finally:
            for task in self._answers.values():
                task.cancel()


@dataclass(frozen=True, slots=True)
class _WorkerAttempt:
    """Implements CallLog for attempts in a worker process: a late answer ends them."""

    _job: RestartableJob
    _workers: WorkerPool

    async def call(self, key: Hashable, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None = None) -> T:
        """Implement CallLog.call.

        Raises:
            LateAnswerError: the answer takes long.
        """
        task = self._job.answer(key, make, size)
        if task is None:
            return await self._workers.wait_aside(make())
        done, _ = await asyncio.wait([task], timeout=limits.MAX_BLOCKED_RENDERING_SECONDS)
        if not done:
            raise LateAnswerError
        found: T = task.result().given()
        return found


@dataclass(frozen=True, slots=True)
class CallsAside:
    """Implements CallLog for a job that keeps its process: while a call takes long, another job has its turn."""

    _workers: WorkerPool

    async def call(self, _key: Hashable, make: Callable[[], Awaitable[T]], size: Callable[[T], int] | None = None) -> T:
        """Implement CallLog.call. The job does not start again, so nothing is kept.

        Raises:
            StatusError: 429, if too many jobs wait so.
        """
        return await self._workers.wait_aside(make())
