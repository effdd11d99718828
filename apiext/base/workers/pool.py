"""The pool of worker processes."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, TypeVarTuple

from apiext.base.meta import errors, limits
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import shared_task
from apiext.base.workers.process_supply import ProcessSupply
from apiext.base.workers.server_link import Job

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable

    from apiext.base.workers.process_supply import Worker
    from apiext.base.workers.server_link import Answers, ServerLink


_RETRY_AFTER: Final = 1
"""Seconds after which a refused client may try again."""


class Flow(NamedTuple):
    """Jobs that wait for each other: those of a user that are alike, and may take equally long."""

    user: str
    kind: Hashable


class FairSlots:
    """A number of slots, assigned to waiting users round-robin, and to the flows of a user round-robin.

    A job that takes long gives its slot to others, and goes on; while it does, further jobs of its flow wait. So a short job waits for
    jobs of its own flow, and for other short ones.
    """

    def __init__(self, *, slots: int, waiting: int, long: int) -> None:
        """Create the slots. One user gets all but one of them (at least one), and at most `waiting` jobs in the queue.

        At most `long` jobs go on without a slot, of a user all but one (at least one). The queue of the user "", the server itself, has no
        limit.
        """
        self._free = slots
        self._for_one = max(slots - 1, 1)
        self._most = waiting
        self._long = long
        self._long_for_one = max(long - 1, min(long, 1))
        self._taken: Counter[str] = Counter()
        self._lasting: set[Flow] = set()
        """Flows of the jobs that go on without a slot."""
        self._waiting: dict[str, dict[Flow, deque[asyncio.Future[None]]]] = {}
        """The jobs of each flow in order; the users and their flows in the order of their turns."""

    @property
    def taken(self) -> int:
        """Return the number of slots in use, and of jobs that go on without one."""
        return self._taken.total() + len(self._lasting)

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return sum(map(self._waiting_of, self._waiting))

    async def acquire(self, flow: Flow) -> None:
        """Wait for a slot.

        Raises:
            StatusError: 429, if too many jobs of the user wait.
        """
        if flow.user and self._waiting_of(flow.user) >= self._most:
            raise errors.too_many_requests("too many large requests, please try again later", _RETRY_AFTER)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(flow.user, {}).setdefault(flow, deque())
        queue.append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn in queue:
                queue.remove(turn)
                self._forget_empty(flow)
            else:
                self.release(flow)
            raise

    def release(self, flow: Flow) -> None:
        """Return a slot."""
        self._free += 1
        self._taken[flow.user] -= 1
        if not self._taken[flow.user]:
            del self._taken[flow.user]
        self._give()

    def resume(self, flow: Flow) -> None:
        """Take a returned slot again at once, even if none is free: until jobs end, more jobs run than there are slots."""
        self._free -= 1
        self._taken[flow.user] += 1

    def lengthen(self, flow: Flow) -> bool:
        """Return a slot, whose job goes on. Return whether there is room for it; one of its flow may already do so."""
        of_user = sum(one.user == flow.user for one in self._lasting)
        if flow in self._lasting or len(self._lasting) >= self._long or of_user >= self._long_for_one:
            return False
        self._lasting.add(flow)
        self.release(flow)
        return True

    def end_long(self, flow: Flow) -> None:
        """End a job that went on without a slot."""
        self._lasting.discard(flow)
        self._give()

    def _give(self) -> None:
        while self._free > 0 and (flow := self._next_flow()) is not None:
            flows = self._waiting.pop(flow.user)
            queue = flows.pop(flow)
            turn = queue.popleft()
            if queue:
                # behind the other flows of the user
                flows[flow] = queue
            if flows:
                # behind the other users
                self._waiting[flow.user] = flows
            self._free -= 1
            self._taken[flow.user] += 1
            if not turn.done():
                turn.set_result(None)

    def _next_flow(self) -> Flow | None:
        users = (user for user in self._waiting if self._taken[user] < self._for_one)
        return next((flow for user in users for flow in self._waiting[user] if flow not in self._lasting), None)

    def _waiting_of(self, user: str) -> int:
        return sum(map(len, self._waiting.get(user, {}).values()))

    def _forget_empty(self, flow: Flow) -> None:
        flows = self._waiting.get(flow.user, {})
        if not flows.get(flow, True):
            del flows[flow]
            if not flows:
                del self._waiting[flow.user]


class Turn:
    """A slot that a job has, lends while it waits for others, and gives away for good when it takes long."""

    __slots__ = ("_flow", "_is_long", "_slots", "_timer")

    def __init__(self, slots: FairSlots, flow: Flow) -> None:
        """Hold a slot that is acquired."""
        self._slots = slots
        self._flow = flow
        self._is_long = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin to measure the time of the job."""
        self._timer = asyncio.get_running_loop().call_later(limits.MAX_SHORT_JOB_SECONDS, self._lengthen)

    def end(self) -> None:
        """Return the slot."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_long:
            self._slots.end_long(self._flow)
        else:
            self._slots.release(self._flow)

    def resume(self) -> None:
        """Take the slot again after `end`, though it may be used meanwhile."""
        self._is_long = False
        self._slots.resume(self._flow)
        self.begin()

    def _lengthen(self) -> None:
        """Go on without a slot. While there is no room, try again later."""
        self._timer = None
        self._is_long = self._slots.lengthen(self._flow)
        if not self._is_long:
            self.begin()


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_GRACE: Final = 1.0
"""Seconds in which a job may end after its caller was cancelled."""
BEGIN_SECONDS: Final = (1.0, 4.0, limits.MAX_JOB_SECONDS)
"""Seconds in which a process must begin a job before another one gets it: the machine may be busy."""
_LOG: Final = get_logger(__name__)
_TURN: Final[ContextVar[Turn]] = ContextVar("turn")


class WorkerPool:
    """Runs functions in worker processes.

    Arguments and results are copied: large ones must be bytes, since the event loop pickles them.

    Raises:
        StatusError: from `call` and `converse`: 413 if the job needs too much memory, 429 if too many jobs of the user wait, 500 if its
            process ended, 503 after `close`, 504 if the job takes longer than MAX_JOB_SECONDS from its beginning in a process.
    """

    def __init__(
        self,
        *,
        processes: int = limits.MAX_WORKERS,
        waiting: int = limits.MAX_WAITING_JOBS,
        long: int = limits.MAX_LONG_JOBS,
        idle_seconds: float = limits.WORKER_IDLE_SECONDS,
        job_seconds: float = limits.MAX_JOB_SECONDS,
        grace: float = _GRACE,
        preload: str = "",
    ) -> None:
        """Create the pool; processes start on demand until `keep_ready`. `preload` names the module whose `rehearse` prepares jobs."""
        self.killed = 0
        """Processes that were killed in the middle of a job."""
        self._slots = FairSlots(slots=processes, waiting=waiting, long=long)
        self.supply = ProcessSupply(preload, idle_seconds)
        """The processes without a job."""
        self.job_seconds = job_seconds
        """Seconds of a job in a process."""
        self.grace = grace
        """Seconds in which a job may end after its caller was cancelled."""
        self.working: set[Worker] = set()
        """The processes with a job."""
        self._aside = 0

    @property
    def running(self) -> int:
        """Return the number of running jobs."""
        return self._slots.taken

    @property
    def waiting(self) -> int:
        """Return the number of waiting jobs."""
        return self._slots.waiting

    @property
    def inline_stretch(self) -> int:
        """Return the factor of the limits of inline work: greater than 1 while the start of a process is late."""
        return limits.INLINE_STRETCH if self.supply.is_late else 1

    def fork_on_demand(self) -> None:
        """Let the template of processes be a fork of this one, which has done what jobs need: at the first job, or at `keep_ready`."""
        self.supply.forks = True

    def keep_ready(self) -> None:
        """Keep a process ready from now on."""
        self.supply.keep_ready()

    async def call(self, function: Callable[[*Ts], T], *args: *Ts, user: str = "", kind: Hashable = None) -> T:
        """Run a function of a module in a worker process and return its result. The job counts for `user`; "" is the server itself.

        Jobs of a user and a `kind`, by default the function, may wait for each other, however long they take.
        If the caller is cancelled, the pool drops a waiting job, and kills a running one after a short time.

        Raises:
            Exception: the function raised it.
        """
        result: T = await self._run(Job(function, args, asks=False), {}, Flow(user, function if kind is None else kind))
        return result

    async def converse(
        self,
        function: Callable[[ServerLink, *Ts], Coroutine[Any, Any, T]],
        *args: *Ts,
        answers: Answers,
        user: str = "",
        kind: Hashable = None,
    ) -> T:
        """Run a coroutine function as `call`; `answers` has the methods that it may call by its ServerLink.

        Raises:
            Exception: the function raised it.
        """
        result: T = await self._run(Job(function, args, asks=True), answers, Flow(user, function if kind is None else kind))
        return result

    async def wait_aside(self, waiting: Awaitable[T]) -> T:
        """Await `waiting` for the running job, and return its result. If that takes long, another job runs meanwhile.

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
                turn = _TURN.get()
                self._aside += 1
                turn.end()
                try:
                    await asyncio.wait([task])
                finally:
                    turn.resume()
                    self._aside -= 1
            return task.result()
        finally:
            task.cancel()
            # avoid a reference cycle through the traceback of the task's exception
            del task

    async def _run(self, job: Job, answers: Answers, flow: Flow) -> Any:
        await self._slots.acquire(flow)
        turn = Turn(self._slots, flow)
        try:
            worker = await self._begun(job, answers)
        except BaseException:
            turn.end()
            raise
        limit, token = asyncio.timeout(self.job_seconds), _TURN.set(turn)
        turn.begin()
        try:
            async with limit:
                return await worker.run()
        except TimeoutError as error:
            if limit.expired():
                raise errors.timeout("the request needs too much processor time") from error
            raise
        finally:
            _TURN.reset(token)
            if worker.busy:
                self.supply.do(self._finish(worker, job, turn))
            else:
                self._put_back(worker)
                turn.end()

    async def _begun(self, job: Job, answers: Answers) -> Worker:
        """Return a process that has begun the job. One that does not is replaced: until then, a job has no effect."""
        for patience in BEGIN_SECONDS:
            worker = await self.supply.take()
            self.working.add(worker)
            try:
                async with asyncio.timeout(patience):
                    begun = await worker.begin(job, answers)
            except TimeoutError:
                _LOG.warning("worker process does not begin its job, replacing it", pid=worker.pid, job=job.function.__qualname__)
                self.killed += 1
                worker.leaving = True
            except BaseException:
                self.supply.do(self._finish(worker, job, None))
                raise
            else:
                if begun:
                    return worker
            self._put_back(worker)
        raise errors.internal("no worker process begins the request")

    async def _finish(self, worker: Worker, job: Job, turn: Turn | None) -> None:
        """Wait a short time for the end of a cancelled job, then kill its process."""
        try:
            async with asyncio.timeout(self.grace):
                await worker.settle()
        except TimeoutError:
            self.killed += 1
            worker.leaving = True
            _LOG.warning("worker process killed, its job ran past the deadline", pid=worker.pid, job=job.function.__qualname__)
        self._put_back(worker)
        if turn is not None:
            turn.end()

    def _put_back(self, worker: Worker) -> None:
        self.working.discard(worker)
        self.supply.put_back(worker)

    async def close(self) -> None:
        """End all processes; their jobs fail."""
        await self.supply.close(self.working)


async def _awaited(waiting: Awaitable[T]) -> T:
    return await waiting
