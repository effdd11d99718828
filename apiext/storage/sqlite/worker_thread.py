"""The thread that waits for the disk."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable


class Worker:
    """Runs one call after the other in a thread of its own and tells the loop how each ended.

    Less work per call than an executor's: no futures, no locks but the queue's.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: queue.SimpleQueue[tuple[Callable[[], None], Callable[[Exception | None], None]] | None]
        self._calls = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        """Make the call in the thread; then `done` is called in the loop with what it raised."""
        self._calls.put((call, done))

    def close(self) -> None:
        """End the thread after the calls it was given. Does not wait."""
        self._calls.put(None)

    def _run(self) -> None:
        while (item := self._calls.get()) is not None:
            call, done = item
            failure: Exception | None = None
            try:
                call()
            except Exception as error:  # noqa: BLE001 -- handed to the loop as it is
                failure = error
            # A loop that was closed in the meantime has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(done, failure)
