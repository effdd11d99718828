"""One shared request for the store's revision, for reads that must see all acknowledged writes."""

from __future__ import annotations

import asyncio

from apiext.meta.tasks import end_tasks
from apiext.storage.backend import Backend, BackendError


class Barrier:
    """Asks the backend for its revision once for many readers.

    A reader that arrives during a request shares the next one, because the answer under way may be older than the reader. The
    request is sent after the current callbacks of the event loop, so that simultaneous readers share it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting: list[asyncio.Future[int]] = []
        self._asking = False
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def revision(self) -> int:
        """Return a revision that is not older than any write acknowledged before the call.

        Raises:
            BackendError: the backend does not answer.
        """
        known = self._backend.known_revision()
        if known is not None:
            return known
        loop = asyncio.get_running_loop()
        # one future a reader: a cancelled reader does not cancel the others
        answer: asyncio.Future[int] = loop.create_future()
        self._waiting.append(answer)
        if not self._asking:
            self._asking = True
            loop.call_soon(self._ask)
        return await answer

    def _ask(self) -> None:
        """Send the request for the readers that wait now."""
        waiting, self._waiting = self._waiting, []
        readers = [reader for reader in waiting if not reader.done()]
        if self._closed or not readers:
            _cancel(readers)
            self._asking = False
        else:
            self._task = asyncio.get_running_loop().create_task(self._answer(readers))

    async def _answer(self, readers: list[asyncio.Future[int]]) -> None:
        try:
            revision = await self._backend.revision()
        except BackendError as error:
            for reader in readers:
                if not reader.done():
                    reader.set_exception(error)
        else:
            for reader in readers:
                if not reader.done():
                    reader.set_result(revision)
        finally:
            _cancel(readers)
            asyncio.get_running_loop().call_soon(self._ask)

    async def close(self) -> None:
        """Stop, and cancel the waiting readers."""
        self._closed = True
        _cancel(self._waiting)
        if self._task is not None:
            await end_tasks(self._task)


def _cancel(readers: list[asyncio.Future[int]]) -> None:
    for reader in readers:
        reader.cancel()
