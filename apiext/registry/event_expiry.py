"""Expiry of events one hour after their last write (kube-apiserver's --event-ttl)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from apiext.meta import errors, time
from apiext.meta.log import get_logger
from apiext.registry.request_context import DeleteOptions, RequestContext
from apiext.storage.interface import ListOptions, Preconditions

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object
    from apiext.registry.delete_collection import Collection
    from apiext.storage.interface import Item

TTL: Final = timedelta(hours=1)
_INTERVAL_SECONDS: Final = 60.0
_PAGE_ITEMS: Final = 500
_LOG: Final = get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class EventExpiry:
    """Deletes events whose own times are older than a limit."""

    events: Collection
    ttl: timedelta = TTL
    interval: float = _INTERVAL_SECONDS
    """Seconds between two sweeps."""
    clock: Callable[[], datetime] = _now

    async def run(self) -> None:
        """Sweep periodically until cancelled; a failed sweep is retried at the next interval."""
        while True:
            await asyncio.sleep(self.interval)
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
        deadline, deleted = self.clock() - self.ttl, 0
        options = ListOptions(limit=_PAGE_ITEMS)
        while True:
            page = await self.events.list(RequestContext(), options)
            for item in page.items:
                event = item.object()
                if last_written(event) < deadline:
                    deleted += await self._delete(item, event)
            if not page.continue_token:
                return deleted
            options = ListOptions(limit=_PAGE_ITEMS, continue_token=page.continue_token)

    async def _delete(self, item: Item, event: Object) -> int:
        ctx = RequestContext(namespace=event["metadata"].get("namespace", ""))
        unchanged = Preconditions(resource_version=str(item.revision))
        try:
            await self.events.delete(ctx, item.fields["metadata.name"], DeleteOptions(preconditions=unchanged))
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
