"""Circuit breaker of a webhook: pauses calls of a webhook that does not answer."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from apiext.base.meta import errors
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import shared_task

T = TypeVar("T")

_FAILURES: Final = 3
"""Failures in a row after which the circuit opens."""
_FIRST_PAUSE_SECONDS: Final = 1.0
"""Seconds without calls after the circuit opened; they double with each failed probe."""
_LONGEST_PAUSE_SECONDS: Final = 15.0


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


class CircuitBreaker:
    """Calls a webhook. After repeated failures, one call after each pause is a probe, and all other calls fail at once."""

    def __init__(
        self,
        is_failure: Callable[[Exception], bool],
        *,
        changed: Callable[[CircuitBreaker], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a closed circuit.

        `is_failure` recognizes the exceptions of a webhook that does not answer; any other outcome is an answer. The circuit calls
        `changed` with itself after the first answer, after the first one since `report_again`, and when it opens or closes.
        """
        self._is_failure = is_failure
        self._changed = changed
        self._clock = clock
        self._count = 0
        self._waiting = WaitingCalls(clock)
        self._probe_at = 0.0
        self._probing = False
        self._probe: asyncio.Task[Any] | None = None
        self._failed_call: Callable[[], Awaitable[Any]] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._reported = False
        """Whether `changed` was called after an answer."""
        self.error: Exception | None = None
        """The latest failure while the circuit is open, else None."""

    @property
    def probe_due(self) -> bool:
        """Report whether the circuit is open, and the next call would be a probe."""
        return self.error is not None and not self._probing and self._clock() >= self._probe_at

    def probe(self) -> None:
        """Repeat the latest failed call if a probe is due: for requests that need no call."""
        if self.probe_due and self._failed_call is not None:
            self._probe = shared_task(self.call(self._failed_call))

    def report_again(self) -> None:
        """Call `changed` after the next answer, because the webhook is on record as silent."""
        self._reported = False

    async def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Return the result of a call.

        Raises:
            StatusError: 429, if too many calls wait.
            Exception: the error of the call, or the latest failure if the circuit is open.
        """
        probe = self.probe_due
        if self.error is not None and not probe:
            raise copy.copy(self.error)
        with self._waiting:
            return await self._counted(function, probe=probe)

    async def _counted(self, function: Callable[[], Awaitable[T]], *, probe: bool) -> T:
        self._probing |= probe
        try:
            result = await function()
        except Exception as error:
            if self._is_failure(error):
                self._failed(error, function)
            else:
                self._succeeded()
            raise
        else:
            self._succeeded()
            return result
        finally:
            if probe:
                self._probing = False

    def _succeeded(self) -> None:
        was_open, first = self.error is not None, not self._reported
        self._count, self.error, self._reported, self._failed_call = 0, None, True, None
        self._waiting.answered()
        self._backoff.reset()
        if was_open or first:
            self._changed(self)

    def _failed(self, error: Exception, function: Callable[[], Awaitable[Any]]) -> None:
        was_open = self.error is not None
        self._count += 1
        if self._count < _FAILURES:
            return
        if self._clock() >= self._probe_at:
            self._probe_at = self._clock() + self._backoff.take()
        self.error, self._failed_call = copy.copy(error), function
        if not was_open:
            self._changed(self)
