"""A thread for long pure Python work of writes that cannot run in worker processes. It leaves the event loop its turns."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Final, TypeVar

T = TypeVar("T")
_SWITCH_SECONDS: Final = 0.0005
"""Seconds that the event loop waits for the interpreter at most while the thread works; Python's default is ten times as long."""


async def aside(work: Callable[[], T]) -> T:
    """Return the result of long work, which a thread does."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), with_short_turns, work)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="aside")


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
