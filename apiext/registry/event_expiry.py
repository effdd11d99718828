"""Expiry of events one hour after their last write (kube-apiserver's --event-ttl)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta import errors, time
from apiext.meta.log import get_logger
from apiext.meta.request import UserInfo
from apiext.registry.request_context import DeleteOptions, RequestContext
from apiext.storage.interface import ListOptions, Preconditions

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Item, ListResult

TTL: Final = timedelta(hours=1)
_INTERVAL_SECONDS: Final = 60.0
_PAGE_ITEMS: Final = 500
_LOG: Final = get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class Events(Protocol):
    """Lists and deletes events."""

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Return a page of events."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an event."""
        ...


class EventExpiry:
    """Deletes events whose own times are older than a limit."""

    def __init__(
        self, events: Events, *, ttl: timedelta = TTL, interval: float = _INTERVAL_SECONDS, clock: Callable[[], datetime] = _now
    ) -> None:
        """Set the sources and the seconds between two sweeps (`interval`)."""
        self._events = events
        self._ttl = ttl
        self._interval = interval
        self._clock = clock
        self._ctx = RequestContext(user=UserInfo("system:apiserver", ("system:masters",)))

    async def run(self) -> None:
        """Sweep periodically until cancelled; a failed sweep is retried at the next interval."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.sweep()
            except errors.StatusError as error:
                _LOG.warning("events cannot be expired", error=str(error))
            except Exception:  # noqa: BLE001 -- or events would pile up for ever
                _LOG.exception("events cannot be expired")

    async def sweep(self) -> int:
        """Delete the expired events; return their number.

        Raises:
            StatusError: the events cannot be listed or deleted.
        """
        deadline, deleted = self._clock() - self._ttl, 0
        options = ListOptions(limit=_PAGE_ITEMS)
        while True:
            page = await self._events.list(self._ctx, options)
            for item in page.items:
                event = item.object()
                if last_written(event) < deadline:
                    deleted += await self._delete(item, event)
            if not page.continue_token:
                return deleted
            options = ListOptions(limit=_PAGE_ITEMS, continue_token=page.continue_token)

    async def _delete(self, item: Item, event: Object) -> int:
        ctx = dataclasses.replace(self._ctx, namespace=event["metadata"].get("namespace", ""))
        unchanged = Preconditions(resource_version=str(item.revision))
        try:
            await self._events.delete(ctx, item.fields["metadata.name"], DeleteOptions(preconditions=unchanged))
        except errors.StatusError as error:
            if error.code in (404, 409):
                return 0
            raise
        return 1


def last_written(event: Object) -> datetime:
    """Return the latest time in an event."""
    series = event.get("series") or {}
    times = (
        event["metadata"].get("creationTimestamp"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        series.get("lastObservedTime"),
    )
    return max((time.parse(text) for text in times if text), default=datetime.min.replace(tzinfo=UTC))
