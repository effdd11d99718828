"""Sends events to another server (apiserver plugin/pkg/audit/webhook)."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

from apiext.api.audit.event import event_list
from apiext.api.audit.levels import AuditMode, AuditStage
from apiext.base.scheduling.tasks import end_tasks, shared_task
from apiext.base.webhook.client import WebhookError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from apiext.api.audit.backend import AuditStats
    from apiext.api.audit.event import AuditEvent
    from apiext.base.webhook.client import WebhookClient

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
        """Send events. Return whether the server took them; count them as lost if it did not, or if they are not JSON."""
        left, error = len(events), ""
        defects: list[str] = []
        try:
            inline = left <= _INLINE_EVENTS and not any(event.has_objects for event in events)
            lists, defects = _lists(events) if inline else await asyncio.to_thread(_lists, events)
            # a server that does not answer keeps batches for minutes: only as JSON
            del events
            if defects:
                left -= len(defects)
                self._stats.lose(PLUGIN, len(defects), defects[0])
            for data, number in lists:
                if error := await self._post(data):
                    break
                left -= number
        except asyncio.CancelledError:
            self._stats.lose(PLUGIN, left, "cancelled")
            raise
        except Exception as defect:  # noqa: BLE001 -- lost events are counted whatever the reason
            error = _reason(defect)
        if left:
            self._stats.lose(PLUGIN, left, error)
        return not error and not defects

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


def _lists(events: Sequence[AuditEvent]) -> tuple[list[tuple[bytes, int]], list[str]]:
    """Return the lists to send, each with the number of its events, and a reason for each event that is not JSON.

    There is one list, unless an event is not JSON: then each is sent by itself, and makes no other unreadable.
    """
    try:
        return [(_checked_list(events), len(events))], []
    except Exception:  # noqa: BLE001 -- one of them
        found, defects = [], []
    for event in events:
        try:
            found.append((_list_of_one(event), 1))
        except Exception as defect:  # noqa: BLE001 -- an event is lost, whatever the defect
            defects.append(_reason(defect))
    return found, defects


def _list_of_one(event: AuditEvent) -> bytes:
    """Return a list of one event, without its objects if it is not JSON with them. Raises an error if it is not JSON."""
    try:
        return _checked_list((event,))
    except ValueError:
        if not event.has_objects:
            raise
        return _checked_list((event.truncated(),))


def _checked_list(events: Sequence[AuditEvent]) -> bytes:
    for event in events:
        event.check()
    return event_list(events)


def _reason(defect: Exception) -> str:
    return str(defect) or type(defect).__name__


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
