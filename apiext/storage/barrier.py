"""Shares requests for the store's revision between reads that must see all acknowledged writes."""

from __future__ import annotations

import asyncio
from typing import Final

from apiext.scheduling.tasks import end_tasks
from apiext.storage.backend import Backend, BackendError

_PATIENCE_SECONDS: Final = 0.001
"""Seconds that readers wait for a request under way before sending their own; most requests take less."""
_MAX_REQUESTS: Final = 4
"""Requests under way at a time: a slow store does not get more."""


class Barrier:
    """Asks the backend for its revision once for many readers.

    A reader that arrives during a request shares the next one: the answer under way may be older than the reader. The barrier sends a
    request after the current callbacks of the event loop, so that simultaneous readers share it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting: list[asyncio.Future[int]] = []
        """Readers of the next request."""
        self._requests: set[asyncio.Task[None]] = set()
        self._is_collecting = False
        """Whether a task is about to send the next request."""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def revision(self) -> int:
        """Return a revision not older than any write acknowledged before the call.

        Raises:
            BackendError: the backend does not answer.
        """
        known = self._backend.known_revision()
        if known is not None:
            return known
        loop = asyncio.get_running_loop()
        # one future per reader: a cancelled reader does not cancel the others
        answer: asyncio.Future[int] = loop.create_future()
        self._waiting.append(answer)
        if self._closed:
            answer.cancel()
        elif not self._requests:
            self._ask()
        elif not self._is_collecting and self._timer is None:
            self._timer = loop.call_later(_PATIENCE_SECONDS, self._ask_beside)
        return await answer

    def _ask(self) -> None:
        """Send one request for all readers that wait when it begins."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_collecting = True
        request = asyncio.get_running_loop().create_task(self._answer())
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)

    def _ask_beside(self) -> None:
        """Send a request beside others under way."""
        self._timer = None
        if self._waiting and not self._is_collecting and len(self._requests) < _MAX_REQUESTS:
            self._ask()

    async def _answer(self) -> None:
        waiting, self._waiting, self._is_collecting = self._waiting, [], False
        readers = [reader for reader in waiting if not reader.done()]
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
            _cancel(readers)
            if self._waiting and not self._is_collecting and not self._closed:
                self._ask()

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
