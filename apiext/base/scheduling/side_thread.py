"""Threads for long pure Python work that leave the event loop its turns, and moments in which no such thread works."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final, TypeVar

T = TypeVar("T")
_SWITCH_SECONDS: Final = 0.0005
"""Seconds that the event loop waits for the interpreter at most while the thread works; Python's default is ten times as long."""
_LOOK_SECONDS: Final = 0.002
"""Seconds between two looks at whether threads still work."""
_UNDER_WAY: Final[set[Future[Any]]] = set()


class CountedThreads(ThreadPoolExecutor):
    """Threads that leave the event loop its turns, and of which it is known whether they work, see `at_rest`.

    Only threads of the event loop and their own may submit work.
    """

    def submit(self, work: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        """Let a thread work, and return the future result."""
        future = super().submit(with_short_turns, partial(work, *args, **named))
        _UNDER_WAY.add(future)
        future.add_done_callback(_UNDER_WAY.discard)
        return future


async def at_rest(work: Callable[[], T], seconds: float) -> T:
    """Return the result of `work` on the event loop in a moment in which no CountedThreads work: none holds the lock of an import or value.

    Raises:
        TimeoutError: there was none in so many seconds.
        Exception: the work raised it.
    """
    async with asyncio.timeout(seconds):
        while _UNDER_WAY:  # noqa: ASYNC110 -- futures of threads end in threads
            await asyncio.sleep(_LOOK_SECONDS)
    return work()


async def aside(work: Callable[[], T]) -> T:
    """Return the result of long work, which a thread does."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), work)


@cache
def _thread() -> ThreadPoolExecutor:
    return CountedThreads(max_workers=1, thread_name_prefix="aside")


def with_short_turns(work: Callable[[], T]) -> T:
    """Return the result of work in a thread, which gives the event loop its turns."""
    with _TURNS.shortened():
        return work()


class _Turns:
    """The switch interval, one for the whole process: short while any thread works with short turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._usual = 0.0

    @contextmanager
    def shortened(self) -> Iterator[None]:
        with self._lock:
            if self._threads == 0:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH_SECONDS)
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    sys.setswitchinterval(self._usual)

    def forget_threads(self) -> None:
        """Begin anew in a forked process, which has no thread; a lock of the parent may be held for ever there."""
        if self._threads:
            sys.setswitchinterval(self._usual)
        self._threads, self._lock = 0, threading.Lock()


_TURNS: Final = _Turns()
# a forked process has no thread
os.register_at_fork(after_in_child=_thread.cache_clear)
os.register_at_fork(after_in_child=_TURNS.forget_threads)
os.register_at_fork(after_in_child=_UNDER_WAY.clear)
