"""Background work: parts of heavy requests run in a thread, so that the event loop stays responsive.

The thread is separate from the loop's default executor, which short blocking calls need. There is one, since all threads share the
interpreter. Work that continues a request runs before work that starts one, which limits the number of parsed bodies in memory.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")

is_heavy: ContextVar[bool] = ContextVar("is_heavy", default=False)
"""Whether the current request is heavy. Each request that writes sets it."""

THREADS: Final = 1
"""Threads for background work."""
_CONTINUES, _STARTS = range(2)
_EXECUTOR: Final = ThreadPoolExecutor(THREADS, "apiext-heavy")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a part of the work of the current request: in the thread if the request is heavy, else at once."""
    return await _queue().do(_CONTINUES, partial(work, *args, **kwargs)) if is_heavy.get() else work(*args, **kwargs)


async def begin(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the first part of the work of a heavy request in the thread."""
    return await _queue().do(_STARTS, partial(work, *args, **kwargs))


class _Queue:
    """The queue of one event loop. Work whose caller was cancelled while it waited does not run."""

    def __init__(self) -> None:
        self._free = THREADS
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    async def do(self, priority: int, work: Callable[[], T]) -> T:
        """Run work once a thread is free and return its result; a lower priority runs first."""
        loop = asyncio.get_running_loop()
        await self._wait_for_thread(loop, priority)
        doing = _EXECUTOR.submit(contextvars.copy_context().run, work)
        result = asyncio.wrap_future(doing)
        # A cancelled request leaves its thread busy until the work ends.
        doing.add_done_callback(partial(self._release, loop))
        return await result

    async def _wait_for_thread(self, loop: asyncio.AbstractEventLoop, priority: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = loop.create_future()
        heappush(self._waiting, (priority, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._wake_next()
            raise

    def _release(self, loop: asyncio.AbstractEventLoop, _: Future[Any]) -> None:
        """Release the thread, after the request has seen its result: it may have more work, which runs first.

        Called in the thread.
        """
        # The loop may be closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.call_soon, self._wake_next)

    def _wake_next(self) -> None:
        """Give the free thread to the next waiting caller."""
        while self._waiting:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


_QUEUES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue]] = WeakKeyDictionary()


def _queue() -> _Queue:
    loop = asyncio.get_running_loop()
    queue = _QUEUES.get(loop)
    if queue is None:
        queue = _QUEUES[loop] = _Queue()
    return queue
