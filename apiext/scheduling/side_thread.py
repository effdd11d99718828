"""A thread for long pure Python work of writes that cannot run in worker processes. It leaves the event loop its turns."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


# a forked process has no thread
os.register_at_fork(after_in_child=_thread.cache_clear)


def with_short_turns(work: Callable[[], T]) -> T:
    """Return the result of work in a thread, which gives the event loop its turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        return work()
    finally:
        sys.setswitchinterval(before)
