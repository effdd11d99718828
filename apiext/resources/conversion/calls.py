"""Calls of a conversion webhook: what they send, where they are made, and how they are counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from apiext.base.scheduling.tracebacks import without_frames

if TYPE_CHECKING:
    from apiext.base.scheduling.call_log import CallLog
    from apiext.resources.conversion.metrics import ConversionOutcome, ConversionStats


class Hook(Protocol):
    """Calls a webhook."""

    async def post(self, body: bytes) -> bytes:
        """Send a document and return the answer.

        Raises:
            HookError: the call failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A call of a webhook."""

    number: int
    """Its number among the calls of a conversion. Each attempt at the conversion numbers equal calls alike."""
    uid: str
    begun: float
    """`time.monotonic` of this machine."""
    body: bytes


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The answer to a call."""

    uid: str
    begun: float
    """Those of the call that was made, in this attempt at the conversion or an earlier one."""
    data: bytes
    error: Exception | None = None
    """The HookError of a call that failed."""

    @property
    def size(self) -> int:
        """Return the bytes of the answer."""
        return len(self.data)


class ConversionCalls(Protocol):
    """What a converter needs for its calls."""

    async def post(self, call: WebhookCall) -> WebhookAnswer:
        """Call the webhook.

        Raises:
            StatusError: 429, if too many calls wait.
        """
        ...

    async def observe(self, number: int, outcome: ConversionOutcome) -> None:
        """Count the call with a number."""
        ...


class CountedCalls:
    """Implements ConversionCalls with a webhook and the metrics."""

    def __init__(self, hook: Hook, stats: ConversionStats) -> None:
        self._hook = hook
        self._stats = stats

    async def post(self, call: WebhookCall) -> WebhookAnswer:
        """Implement ConversionCalls.post."""
        # Imported with the first webhook: most servers call none.
        from apiext.base.webhook.hook_answers import HookError

        try:
            return WebhookAnswer(call.uid, call.begun, await self._hook.post(call.body))
        except HookError as error:
            return WebhookAnswer(call.uid, call.begun, b"", without_frames(error))

    async def observe(self, _number: int, outcome: ConversionOutcome) -> None:
        """Implement ConversionCalls.observe."""
        self._stats.observe(outcome)


class LoggedCalls:
    """Implements ConversionCalls by the log of a job: an attempt gets the answers of earlier ones, and no call is counted twice."""

    def __init__(self, calls: ConversionCalls, log: CallLog) -> None:
        self._calls = calls
        self._log = log

    async def post(self, call: WebhookCall) -> WebhookAnswer:
        """Implement ConversionCalls.post."""
        return await self._log.call(("post", call.number), lambda: self._calls.post(call), lambda answer: answer.size)

    async def observe(self, number: int, outcome: ConversionOutcome) -> None:
        """Implement ConversionCalls.observe."""
        await self._log.call(("observe", number), lambda: self._calls.observe(number, outcome))
