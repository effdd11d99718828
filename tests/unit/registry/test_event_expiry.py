"""Expiry of events one hour after their last occurrence."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from apiext.meta.json_codec import Object
from apiext.registry.event import event_codec
from apiext.registry.event_expiry import EventExpiry, last_written
from apiext.registry.request_context import CreateOptions, DeleteOptions, RequestContext
from apiext.registry.rest import ResourceRest
from apiext.storage.interface import Item, ListOptions, ListResult

CTX = RequestContext(namespace="default")


def _event(name: str, **members: Any) -> Object:
    obj = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, **members}
    event_codec().decode_body(obj, False)
    return obj


async def test_deletes_expired_events(events: ResourceRest) -> None:
    """Delete the events last seen more than an hour ago."""
    later = datetime.now(UTC) + timedelta(minutes=90)
    repeated = (later - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    await events.create(CTX, _event("old"), CreateOptions())
    await events.create(CTX, _event("repeated", lastTimestamp=repeated), CreateOptions())

    assert await EventExpiry(events).sweep() == 0
    assert await EventExpiry(events, clock=lambda: later).sweep() == 1
    left = await events.list(CTX, ListOptions())
    assert [item.fields["metadata.name"] for item in left.items] == ["repeated"]


def test_uses_the_latest_time() -> None:
    """Use the latest of an event's times."""
    event = _event("e", eventTime="2020-01-01T00:00:00.000000Z", series={"count": 2, "lastObservedTime": "2020-01-01T00:00:05.500000Z"})

    assert last_written(event) == datetime(2020, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert last_written(_event("e")).year == 1


async def test_sweeps_after_an_unexpected_exception() -> None:
    """Continue after a sweep that raised an unexpected exception."""
    swept = asyncio.Event()

    class FailingOnce:
        """Events whose first list raises an unexpected exception."""

        surprises: ClassVar[list[Exception]] = [ValueError("a time that cannot be read")]

        async def list(self, _ctx: RequestContext, _options: ListOptions) -> ListResult:
            """Raise once."""
            if self.surprises:
                raise self.surprises.pop()
            swept.set()
            return ListResult(items=[], revision=1)

        async def delete(self, _ctx: RequestContext, _name: str, _options: DeleteOptions) -> tuple[Item, bool]:
            """Fail the test."""
            raise AssertionError

    sweeping = asyncio.create_task(EventExpiry(FailingOnce(), interval=0.001).run())
    async with asyncio.timeout(30):
        await swept.wait()
    sweeping.cancel()
