"""Limits the processor time of a request on the event loop, where its work depends on stored objects and schemas."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from apiext.base.meta.limits import BOUNDED_COST_STRETCH, BOUNDED_STRETCH, MAX_INLINE_SECONDS, MAX_INLINE_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextvars import Token

T = TypeVar("T")
A = TypeVar("A")


class HeavyWorkError(Exception):
    """The request takes too long for the event loop: it must run in a worker process. Nothing was written."""


class InlineWork:
    """Measures the work of a request on the event loop. `current_work` returns it inside its `with` block."""

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

    def __enter__(self) -> None:
        self._token = _CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        # tasks that the request started may outlive it
        self._left = self._steps = math.inf
        if self._token is not None:
            _CURRENT.reset(self._token)


class BoundedWork(InlineWork):
    """Work of a thread beside the event loop, within greater limits."""

    __slots__ = ()
    cost_stretch = BOUNDED_COST_STRETCH

    def __init__(self) -> None:
        super().__init__(stretch=BOUNDED_STRETCH)


class _UnlimitedWork(InlineWork):
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


def elsewhere() -> InlineWork:
    """Return the work of a request that another process executes, and which has no limit here."""
    return _UnlimitedWork()


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


_UNLIMITED: Final = _UnlimitedWork()
_CURRENT: Final[ContextVar[InlineWork]] = ContextVar("inline_work", default=_UNLIMITED)
current_work: Final = _CURRENT.get
"""Return the work of the current request."""
_RESTARTED: Final[ContextVar[Memory | None]] = ContextVar("restarted", default=None)
