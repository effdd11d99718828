"""Shares requests for the store's revision between reads that must see all acknowledged writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import Backend, BackendError
from apiext.storage.store_times import StoreTimes

PATIENCE_SECONDS: Final = 0.001
"""Seconds that readers wait for a request under way before sending their own; most requests take less."""
_MAX_REQUESTS: Final = 4
"""Requests under way at a time: a slow store does not get more."""
_TURNS: Final = 2
"""Turns of the event loop that a request waits for more readers where several came before. An idle event loop takes them at once."""


class Barrier:
    """Asks the backend for its revision once for many readers.

    A reader that arrives during a request shares the next one: the answer under way may be older than the reader. The barrier sends a
    request after the current callbacks of the event loop, so that simultaneous readers share it. While several clients read, the request
    waits for two more turns: the clients that the last answer has reached may ask again.
    """

    def __init__(self, backend: Backend, times: Callable[[], StoreTimes | None] | None = None) -> None:
        """Ask a backend. `times` returns the times of the current request if its waits are measured."""
        self._backend = backend
        self._times = times
        self._waiting: list[asyncio.Future[int]] = []
        """Readers of the next request."""
        self._requests: set[asyncio.Task[None]] = set()
        self._under_way = 0
        """Requests without an answer. Their tasks end later, which must not make readers wait."""
        self._is_collecting = False
        """Whether the next request is about to be sent."""
        self._is_shared = False
        """Whether the latest request had several readers."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the readers. Getting the running one would be a system call each time."""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def revision(self) -> int:
        """Return a revision not older than any write acknowledged before the call.

        Raises:
            BackendError: the backend does not answer.
        """
        times = self._times() if self._times is not None else None
        begin = 0.0 if times is None else time.perf_counter()
        try:
            known = self._backend.known_revision()
            if known is not None:
                return known
            loop = self._loop
            if loop is None:
                loop = self._loop = asyncio.get_running_loop()
            # one future per reader: a cancelled reader does not cancel the others
            answer: asyncio.Future[int] = loop.create_future()
            self._waiting.append(answer)
            if self._closed:
                answer.cancel()
            elif self._is_collecting:
                pass
            elif not self._under_way:
                self._ask(loop, _TURNS if self._is_shared else 0)
            elif self._timer is None:
                self._timer = loop.call_later(PATIENCE_SECONDS, self._ask_beside, loop)
            return await answer
        finally:
            if times is not None:
                times.reads += time.perf_counter() - begin

    def _ask(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Send one request, after turns of the event loop, for all readers that wait when it begins."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_collecting = True
        if turns:
            loop.call_soon(self._ask, loop, turns - 1)
        elif not self._closed:
            self._under_way += 1
            request = loop.create_task(self._answer(loop))
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)

    def _ask_beside(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send a request beside others under way."""
        self._timer = None
        if self._waiting and not self._is_collecting and self._under_way < _MAX_REQUESTS:
            self._ask(loop, 0)

    async def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting, self._is_collecting = self._waiting, [], False
        readers = [reader for reader in waiting if not reader.done()]
        self._is_shared = len(readers) > 1
        try:
            if readers:
                revision = await self._backend.revision()
                for reader in readers:
                    if not reader.done():
                        reader.set_result(revision)
        except BackendError as error:
            for reader in readers:
                if not reader.done():
                    reader.set_exception(error)
        finally:
            self._under_way -= 1
            _cancel(readers)
            if self._waiting and not self._is_collecting and not self._closed:
                self._ask(loop, _TURNS)

    async def close(self) -> None:
        """Stop, and cancel the waiting readers."""
        self._closed = True
        _cancel(self._waiting)
        if self._timer is not None:
            self._timer.cancel()
        await end_tasks(*self._requests)


def _cancel(readers: list[asyncio.Future[int]]) -> None:
    for reader in readers:
        reader.cancel()
