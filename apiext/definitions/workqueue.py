"""Names of what has to be looked at, each once and one after the other; what fails comes again, later and later.

Mirrors client-go util/workqueue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger

if TYPE_CHECKING:
    from apiext.meta.log import Logger

_LOG: Final = get_logger(__name__)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 30.0

Sync = Callable[[str], Awaitable[None]]
"""Brings what has a name up to date."""


class WorkQueue:
    """`failures` are what `sync` may raise in the course of things; `trouble` is what the log says of them."""

    __slots__ = ("_backoffs", "_failures", "_log", "_names", "_sync", "_trouble", "_waiting")

    def __init__(self, sync: Sync, *, failures: tuple[type[Exception], ...], trouble: str, log: Logger = _LOG) -> None:
        self._sync = sync
        self._failures = failures
        self._trouble = trouble
        self._log = log
        self._names: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._backoffs: dict[str, Backoff] = {}
        """Of names that have failed since they last did not."""

    def add(self, name: str) -> None:
        """Have it looked at, unless it waits for that already."""
        if name not in self._waiting:
            self._waiting.add(name)
            self._names.put_nowait(name)

    async def join(self) -> None:
        """Return when everything has been looked at; what has failed and is yet to be tried again counts."""
        await self._names.join()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            name = await self._names.get()
            self._waiting.discard(name)
            try:
                await self._sync(name)
            except self._failures as error:
                self._again(name, error)
            except Exception as error:  # noqa: BLE001 -- one of them must not stop the work on all others
                self._log.exception("a definition cannot be brought up to date", definition=name)
                self._again(name, error)
            else:
                self._backoffs.pop(name, None)
            finally:
                self._names.task_done()

    def _again(self, name: str, error: Exception) -> None:
        pause = self._backoffs.setdefault(name, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)).take()
        self._log.warning(self._trouble, definition=name, error=str(error), retry_after=pause)
        asyncio.get_running_loop().call_later(pause, self.add, name)
