"""Limits the processor time of a request on the event loop, where its work depends on stored objects and schemas.

What takes too long is done elsewhere: by a thread if it may begin again (`bounded`, `Deferred`), else by a worker process, in which
the whole request begins again. HeavyWorkError ends the attempt on the event loop. Everything that does limited work may raise it, so
that no docstring names it, and nothing outside this module catches it: the block of an InlineWork ends, and what stands after it runs.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeVar

from apiext.base.meta.limits import BOUNDED_COST_STRETCH, BOUNDED_STRETCH, MAX_BOUNDED_JOBS, MAX_INLINE_SECONDS, MAX_INLINE_STEPS
from apiext.base.scheduling.side_thread import CountedThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Token
    from types import TracebackType

T = TypeVar("T")
A = TypeVar("A")
_MAX_OWNERS: Final = 1024
"""Owners of long work that are remembered; all are forgotten when there are more."""
_LONG_SECONDS: Final = 0.5
"""Seconds in which work of an owner is not tried in the thread after some took too long: that attempt cost up to a twentieth of it."""


class HeavyWorkError(Exception):
    """The request takes too long for the event loop: it must run in a worker process. Nothing was written."""


class InlineWork:
    """Measures the work of a request on the event loop. `current_work` returns it inside its `with` block.

    If the work is too heavy, the block ends early, and what stands after it runs. Nothing was written then.
    """

    __slots__ = ("_begun", "_left", "_seconds", "_steps", "_token", "is_committed", "is_last", "memory", "stretch", "trusting")
    is_limited: ClassVar = True
    """Whether the work must not hold the event loop for long."""
    cost_stretch: ClassVar = 1
    """A factor of the limits of evaluations."""

    def __init__(self, *, trusting: bool = False, stretch: int = 1) -> None:
        """Begin the work. `trusting` marks the server's own work: it may skip checks of stored data after its time is used up.

        `stretch` is a factor of the limits.
        """
        self.trusting = trusting
        self.stretch = stretch
        self._begun = time.thread_time()
        self._left = self._seconds = MAX_INLINE_SECONDS * stretch
        self._steps = math.inf if trusting else MAX_INLINE_STEPS * stretch
        self._token: Token[InlineWork] | None = None
        self.is_committed = False
        """Whether the request has written something."""
        self.is_last = True
        """Whether only a worker process does what takes too long here."""
        self.memory: Memory | None = None
        """What the request keeps for an attempt in a worker process; made when something is kept."""

    def run(self, work: Callable[[A], T], subject: A) -> T:
        """Return `work(subject)`. One call must not take longer than about MAX_INLINE_SECONDS.

        Raises:
            HeavyWorkError: the request has used its time.
        """
        if self._left <= 0 and self._waited() <= 0:
            raise HeavyWorkError
        begun = time.perf_counter()
        try:
            return work(subject)
        finally:
            self._left -= time.perf_counter() - begun

    def _waited(self) -> float:
        """Return the seconds that are left after all: meanwhile, other threads or processes may have used the processor.

        The processor time of the thread is an upper bound, and takes too long to read for each piece of work.
        """
        self._left = self._seconds - (time.thread_time() - self._begun)
        return self._left

    def step(self, count: int = 1) -> None:
        """Count steps of some microseconds each.

        Raises:
            HeavyWorkError: the request has taken more than MAX_INLINE_STEPS.
        """
        self._steps -= count
        if self._steps < 0:
            raise HeavyWorkError

    def check_size(self, size: float, limit: float) -> None:
        """Check the size of work that takes too long for the event loop beyond the limit.

        Raises:
            HeavyWorkError: the size is greater.
        """
        if size > limit * self.stretch:
            raise HeavyWorkError

    def decline(self) -> None:
        """Stop before work that takes too long for the event loop.

        Raises:
            HeavyWorkError: the work is limited.
        """
        raise HeavyWorkError

    def check(self, check: Callable[[A], object], subject: A) -> None:
        """Run a check of a subject. Trusting work skips one that takes too long: the subject was checked before it was stored.

        Raises:
            HeavyWorkError: the check takes too long.
        """
        try:
            check(subject)
        except HeavyWorkError:
            if not self.trusting:
                raise

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        # tasks that the request started may outlive it
        self._left = self._steps = math.inf
        if self._token is not None:
            _CURRENT.reset(self._token)
        if kind is None or not issubclass(kind, HeavyWorkError):
            return False
        if self.is_committed:
            raise AssertionError("a request that has written something would start again") from error
        return True


class PartialWork(InlineWork):
    """Work that is a part of other work, with limits of its own. HeavyWorkError passes on."""

    __slots__ = ()

    def __exit__(self, *_: object) -> Literal[False]:
        InlineWork.__exit__(self, None, None, None)
        return False


class BoundedWork(PartialWork):
    """Work of a thread beside the event loop, within greater limits."""

    __slots__ = ()
    cost_stretch = BOUNDED_COST_STRETCH

    def __init__(self) -> None:
        super().__init__(stretch=BOUNDED_STRETCH)


class UnlimitedWork(PartialWork):
    """Work whose time has no limit, such as in a worker process."""

    __slots__ = ()
    is_limited = False

    def run(self, work: Callable[[A], T], subject: A) -> T:
        """Return `work(subject)`."""
        return work(subject)

    def step(self, count: int = 1) -> None:
        """Do nothing."""

    def check_size(self, size: float, limit: float) -> None:
        """Do nothing."""

    def decline(self) -> None:
        """Do nothing."""


Memory = dict[Hashable, Any]


@contextmanager
def unlimited_work() -> Iterator[None]:
    """Let work within the block take its time, for steps of a request that must not begin again, such as those after its commit."""
    token = _CURRENT.set(_UNLIMITED)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def commit() -> None:
    """Note that the current request has written something. It takes its time from now on, since it must not start again."""
    work = _CURRENT.get()
    work.is_committed = True
    if work.is_limited:
        _CURRENT.set(_UNLIMITED)


def elsewhere() -> UnlimitedWork:
    """Return the work of a request that another process executes, and which has no limit here."""
    return UnlimitedWork()


@contextmanager
def restarted(work: InlineWork) -> Iterator[None]:
    """Give the next attempt at a request what the one on the event loop has kept."""
    token = _RESTARTED.set(work.memory)
    try:
        yield
    finally:
        _RESTARTED.reset(token)


def request_memory() -> tuple[Memory | None, bool]:
    """Return what is kept for attempts at the current request, None if it has only one; and whether an earlier one has kept it."""
    work = _CURRENT.get()
    if not work.is_limited:
        return _RESTARTED.get(), True
    if work.memory is None:
        work.memory = {}
    return work.memory, False


class _Jobs:
    """The jobs of the thread."""

    def __init__(self) -> None:
        self.executor = CountedThreads(max_workers=1, thread_name_prefix="bounded")
        self.unfinished = 0
        self.long: dict[int, float] = {}
        """Until when the thread does not try work of an owner, by its id."""

    def accepts(self, owner: object) -> bool:
        """Return whether the thread should try work of an owner."""
        return self.unfinished < MAX_BOUNDED_JOBS and not (self.long and self.long.get(id(owner), 0.0) > time.monotonic())

    def note_long(self, owner: object) -> None:
        """Note that work of an owner takes too long for the thread."""
        if len(self.long) >= _MAX_OWNERS:
            self.long.clear()
        self.long[id(owner)] = time.monotonic() + _LONG_SECONDS


async def bounded(work: Callable[[], T], owner: object) -> T:
    """Return `work()`, which may begin again: on the event loop if it is short, in a thread if it takes up to some 20 ms.

    Work of one `owner`, such as a schema or a policy, takes about as long each time.

    Raises:
        Exception: the work raised it.
    """
    inline, jobs = current_work(), _jobs()
    if not inline.is_limited or not jobs.accepts(owner):
        return work()
    inline.is_last = False
    try:
        return work()
    except HeavyWorkError:
        pass
    finally:
        inline.is_last = True
    jobs.unfinished += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(jobs.executor, _in_thread, work)
    except HeavyWorkError:
        jobs.note_long(owner)
        raise
    finally:
        jobs.unfinished -= 1


def start_thread() -> None:
    """Start the thread, for whose start the event loop would wait some milliseconds."""
    _jobs().executor.submit(bool)


def _in_thread(work: Callable[[], T]) -> T:
    with BoundedWork():
        return work()


@cache
def _jobs() -> _Jobs:
    return _Jobs()


class Deferred(Generic[T]):
    """A value made once, at first use.

    For the event loop, a thread makes a large value. Until it is ready, writes that need it run in worker processes. Only worker
    processes make a huge value.
    """

    __slots__ = ("_is_huge", "_made", "_make", "_size", "_started")

    def __init__(self, make: Callable[[], T], *, size: float = 0, is_huge: bool = False) -> None:
        """Begin without the value. `size` is a multiple of what the event loop may make at once."""
        self._make: Callable[[], T] | None = make
        """None once the value is ready: often a method of what keeps this, which would be a reference cycle."""
        self._size = size
        self._is_huge = is_huge
        self._started = False
        self._made: list[T] = []

    @property
    def is_made(self) -> bool:
        """Return whether the value is ready."""
        return bool(self._made)

    def get(self) -> T:
        """Return the value.

        Raises:
            HeavyWorkError: the value is not ready, and takes too long for the event loop.
        """
        if not self._made:
            work = current_work()
            if self._is_huge:
                work.decline()
            try:
                work.check_size(self._size, 1)
                if (make := self._make) is not None:
                    self._keep(work.run(lambda _: make(), None))
            except HeavyWorkError:
                if work.is_last:
                    self._start()
                raise
        return self._made[0]

    def _keep(self, value: T) -> None:
        self._made = [value]
        self._make = None

    def _start(self) -> None:
        if not self._started:
            self._started = True
            _DEFERRED_THREAD.submit(self._make_in_thread)

    def _make_in_thread(self) -> None:
        if (make := self._make) is not None:
            self._keep(make())


_UNLIMITED: Final = UnlimitedWork()
_CURRENT: Final[ContextVar[InlineWork]] = ContextVar("inline_work", default=_UNLIMITED)
current_work: Final = _CURRENT.get
"""Return the work of the current request."""
_RESTARTED: Final[ContextVar[Memory | None]] = ContextVar("restarted", default=None)
_DEFERRED_THREAD: Final = CountedThreads(max_workers=1, thread_name_prefix="rules")
# a forked process has no thread
os.register_at_fork(after_in_child=_jobs.cache_clear)
