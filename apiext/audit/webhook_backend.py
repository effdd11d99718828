"""Sends events to another server (apiserver plugin/pkg/audit/webhook)."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

from apiext.audit.event import event_list
from apiext.audit.levels import AuditMode, AuditStage
from apiext.scheduling.tasks import end_tasks, shared_task
from apiext.webhook.client import WebhookError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.audit.event import AuditEvent
    from apiext.audit.statistics import AuditStats
    from apiext.webhook.client import WebhookClient

PLUGIN: Final = "webhook"
_ATTEMPTS: Final = 5
_FACTOR: Final = 1.5
"""The growth of the pause between attempts."""
_JITTER: Final = 0.2
"""The maximum random extension of a pause, as its share."""
_CLOSE_SECONDS: Final = 30.0
"""Time to send the remaining events at the end."""
_INLINE_EVENTS: Final = 100
"""Events of a list that is encoded on the event loop; a thread encodes longer ones."""


class EventWebhook:
    """Posts lists of events, and repeats failed posts after pauses that grow from `initial_backoff` seconds."""

    def __init__(self, client: WebhookClient, stats: AuditStats, *, initial_backoff: float) -> None:
        self._client = client
        self._stats = stats
        self._initial_backoff = initial_backoff

    async def send(self, events: Sequence[AuditEvent]) -> bool:
        """Send events. Return whether the server took them; count them as lost if it did not."""
        number = len(events)
        try:
            data = event_list(events) if number <= _INLINE_EVENTS else await asyncio.to_thread(event_list, events)
            # a server that does not answer keeps batches for minutes: only as JSON
            del events
            error = await self._post(data)
        except asyncio.CancelledError:
            self._stats.lose(PLUGIN, number, "cancelled")
            raise
        except Exception as defect:  # noqa: BLE001 -- lost events are counted whatever the reason
            error = str(defect) or type(defect).__name__
        if error:
            self._stats.lose(PLUGIN, number, error)
        return not error

    async def _post(self, data: bytes) -> str:
        """Post a list. Return the reason of the last failure, empty after a success."""
        pause, error = self._initial_backoff, ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(pause * (1 + random.random() * _JITTER))  # noqa: S311 -- spreads load, guards nothing
                pause *= _FACTOR
            try:
                status, answer = await self._client.ask("", method="POST", body=data)
            except WebhookError as failure:
                error = str(failure)
                continue
            if 200 <= status < 300:
                return ""
            error = f"the server answered {status}: {answer[:200].decode(errors='replace')}"
        return error


class BlockingWebhook:
    """Sends events one request at a time; requests wait. In mode blocking-strict a request whose first event is not taken must fail."""

    def __init__(self, webhook: EventWebhook, mode: AuditMode) -> None:
        self._webhook = webhook
        self._strict = mode is AuditMode.BLOCKING_STRICT
        self._sending: set[asyncio.Task[bool]] = set()

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Send events. Return an awaitable of the outcome."""
        # a request that ends early does not take its events with it
        task = shared_task(self._webhook.send(tuple(events)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        strict = self._strict and any(event.stage is AuditStage.REQUEST_RECEIVED for event in events)
        return _taken(task, strict=strict)

    async def close(self) -> None:
        """Wait for the events that are being sent, at most 30 seconds."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=_CLOSE_SECONDS)
        await end_tasks(*self._sending)


async def _taken(task: asyncio.Task[bool], *, strict: bool) -> bool:
    """Wait for events to be sent. The result matters in mode blocking-strict only."""
    taken = await asyncio.shield(task)
    return taken or not strict
