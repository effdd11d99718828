"""Events do not stay: the reference lets them expire an hour after they were last written (kube-apiserver's --event-ttl)."""

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
_INTERVAL: Final = 60.0
_PAGE: Final = 500
_LOG: Final = get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class Events(Protocol):
    """Where the events are."""

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """Some of them."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Remove one."""
        ...


class EventExpiry:
    """Deletes events that nobody has repeated for a time; an event's own times tell when that was."""

    def __init__(self, events: Events, *, ttl: timedelta = TTL, interval: float = _INTERVAL, clock: Callable[[], datetime] = _now) -> None:
        """`interval` is in seconds."""
        self._events = events
        self._ttl = ttl
        self._interval = interval
        self._clock = clock
        self._ctx = RequestContext(user=UserInfo("system:apiserver", ("system:masters",)))

    async def run(self) -> None:
        """Sweep now and then until cancelled; a sweep that fails is tried again at the next turn."""
        while True:
            await asyncio.sleep(self._interval)
            try:
                await self.sweep()
            except errors.StatusError as error:
                _LOG.warning("events cannot be expired", error=str(error))
            except Exception:  # noqa: BLE001 -- or events would pile up for ever
                _LOG.exception("events cannot be expired")

    async def sweep(self) -> int:
        """Delete what has expired; how many that were. Raises StatusError."""
        deadline, deleted = self._clock() - self._ttl, 0
        options = ListOptions(limit=_PAGE)
        while True:
            page = await self._events.list(self._ctx, options)
            for item in page.items:
                event = item.object()
                if last_written(event) < deadline:
                    deleted += await self._delete(item, event)
            if not page.continue_token:
                return deleted
            options = ListOptions(limit=_PAGE, continue_token=page.continue_token)

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
    """The latest time that an event tells of itself."""
    series = event.get("series") or {}
    told = (
        event["metadata"].get("creationTimestamp"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        series.get("lastObservedTime"),
    )
    return max((time.parse(text) for text in told if text), default=datetime.min.replace(tzinfo=UTC))
