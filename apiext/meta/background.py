"""Work of heavy requests, away from the event loop, so that nobody waits for it.

It has a thread of its own: many heavy requests keep nobody waiting who needs one of the loop's. It is one, for it shares
the interpreter with the loop, and two would do no more; and of the work that waits, what goes on with a request comes
before what begins one, so that few bodies lie parsed in memory at the same time.
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
"""Whether the request that is being worked on may take so much work that others would wait for it; set anew by each that writes."""

THREADS: Final = 1
_GOES_ON, _BEGINS = range(2)
_EXECUTOR: Final = ThreadPoolExecutor(THREADS, "apiext-heavy")


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do a part of the work, in a thread if the request is heavy."""
    return await _queue().do(_GOES_ON, partial(work, *args, **kwargs)) if is_heavy.get() else work(*args, **kwargs)


async def begin(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do the first part of a heavy request's work, in a thread."""
    return await _queue().do(_BEGINS, partial(work, *args, **kwargs))


class _Queue:
    """Who works and who waits, of one event loop. What waits when nobody wants its result any more is not done at all."""

    def __init__(self) -> None:
        self._free = THREADS
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    async def do(self, rank: int, work: Callable[[], T]) -> T:
        """The result of the work, once it is its turn."""
        loop = asyncio.get_running_loop()
        await self._turn(loop, rank)
        doing = _EXECUTOR.submit(contextvars.copy_context().run, work)
        result = asyncio.wrap_future(doing)
        # though the request may have been given up, its thread is busy until the work ends
        doing.add_done_callback(partial(self._done, loop))
        return await result

    async def _turn(self, loop: asyncio.AbstractEventLoop, rank: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = loop.create_future()
        heappush(self._waiting, (rank, next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._next()
            raise

    def _done(self, loop: asyncio.AbstractEventLoop, _: Future[Any]) -> None:
        """Called in the thread: first let the request see its result, for it may have more work, then the next one go."""
        # the loop may be closed by now
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.call_soon, self._next)

    def _next(self) -> None:
        """Give a thread to the next one that waits."""
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
