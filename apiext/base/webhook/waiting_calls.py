"""Limits the calls that wait for a webhook that does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from apiext.base.meta import errors

PATIENCE_SECONDS: Final = 5.0
"""Seconds without any answer; after them, only a limited number of requests may wait for the webhook."""
MAX_WAITING: Final = 64
"""Maximum of calls that wait for a webhook without answers: a third of the server's concurrent writes."""
_RETRY_AFTER: Final = 1


def too_many_waiting() -> errors.StatusError:
    """Return the 429 for a request when too many others already wait for a webhook."""
    return errors.too_many_requests("too many requests wait for the answer of a webhook, please try again later", _RETRY_AFTER)


class WaitingCalls:
    """The running calls of a webhook: each is a block."""

    __slots__ = ("_clock", "_running", "_silent_since")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running = 0
        self._silent_since = 0.0

    def answered(self) -> None:
        """Note that the webhook has answered a call."""
        self._silent_since = self._clock()

    def __enter__(self) -> Self:
        """Count a call until the end of the block.

        Raises:
            StatusError: 429, too many calls wait.
        """
        if not self._running:
            self._silent_since = self._clock()
        elif self._running >= MAX_WAITING and self._clock() - self._silent_since > PATIENCE_SECONDS:
            raise too_many_waiting()
        self._running += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._running -= 1
