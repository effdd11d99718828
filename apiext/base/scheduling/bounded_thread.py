"""A thread for work of medium length: too long for the event loop, and shorter than the way to a worker process."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.base.meta.limits import MAX_BOUNDED_JOBS
from apiext.base.scheduling.inline_work import BoundedWork, HeavyWorkError, current_work
from apiext.base.scheduling.side_thread import with_short_turns

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_MAX_OWNERS: Final = 1024
"""Owners of long work that are remembered; all are forgotten when there are more."""
_LONG_SECONDS: Final = 0.5
"""Seconds in which work of an owner is not tried in the thread after some took too long: that attempt cost up to a twentieth of it."""


class _Jobs:
    """The jobs of the thread."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bounded")
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
        HeavyWorkError: the request must run in a worker process.
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
        return with_short_turns(work)


@cache
def _jobs() -> _Jobs:
    return _Jobs()


# a forked process has no thread
os.register_at_fork(after_in_child=_jobs.cache_clear)
