"""Expiry of events one hour after their last write."""

import asyncio
from typing import Any

import pytest

from apiext.base.meta.builtin_resources import EVENTS
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin import event_expiry
from apiext.resources.registry.builtin.event_expiry import EventExpiry
from apiext.resources.registry.builtin.events import EVENT_KIND
from apiext.resources.registry.request_context import CreateOptions, RequestContext, UpdateOptions
from apiext.resources.registry.rest import ResourceRest
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import Codec, ListOptions, ListResult
from apiext.storage.replicas.host_records import HostRecords

CTX = RequestContext(namespace="default")
TTL = 3600.0
FUTURE = "2999-01-01T00:00:00Z"
PRECISE_FUTURE = "2999-01-01T00:00:00.000000Z"


class House:
    """Events in a store, and the clocks of its servers."""

    def __init__(self, stores: StoreFactory, events: ResourceRest) -> None:
        self._stores = stores
        self._events = events
        self.wall = 1.8e9
        self.uptime = 100.0
        self.expiry = self.started()

    def started(self) -> EventExpiry:
        """Return the expiry of a server that starts now."""
        records = HostRecords(self._stores.backend, "/registry")
        store = self._stores.store(EVENTS.stored_resource)
        return EventExpiry(store, EVENT_KIND.codec(), records, ttl=TTL, clock=lambda: self.wall, monotonic=lambda: self.uptime)

    async def sleep(self, seconds: float) -> None:
        """Let time pass, with a sweep a minute."""
        while seconds > 0:
            step = min(seconds, 60.0)
            seconds -= step
            self.wall += step
            self.uptime += step
            await self.expiry.sweep()

    async def write(self, name: str, **members: Any) -> None:
        """Create an event."""
        obj: Object = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, **members}
        EVENT_KIND.codec().decode_body(obj, False)
        await self._events.create(CTX, obj, CreateOptions())

    async def update(self, name: str, message: str) -> None:
        """Set the message of an event."""

        async def change(existing: Object) -> Object:
            return {**existing, "message": message}

        await self._events.update(CTX, name, change, UpdateOptions())

    async def names(self) -> list[str]:
        """Return the names of all events."""
        listed = await self._events.list(CTX, ListOptions())
        return sorted(item.fields["metadata.name"] for item in listed.items)

    async def revision(self) -> int:
        """Return the store's revision."""
        return await self._stores.backend.revision()


@pytest.fixture
def house(stores: StoreFactory, events: ResourceRest) -> House:
    """Return an empty house."""
    return House(stores, events)


async def test_expires_events_after_their_last_write(house: House) -> None:
    """Count from the last write that changed an event, whatever times the event has."""
    await house.write("future", firstTimestamp=FUTURE, lastTimestamp=FUTURE, series={"count": 2, "lastObservedTime": PRECISE_FUTURE})
    await house.write("past", firstTimestamp="2001-01-01T00:00:00Z", lastTimestamp="2001-01-01T00:00:00Z")
    await house.write("renewed")
    await house.write("unchanged", message="same")
    await house.sleep(1800)
    await house.update("renewed", "again")
    await house.update("unchanged", "same")
    await house.sleep(1790)
    assert await house.names() == ["future", "past", "renewed", "unchanged"]
    await house.sleep(120)
    assert await house.names() == ["renewed"]
    await house.sleep(1600)
    assert await house.names() == ["renewed"]
    await house.sleep(180)
    assert await house.names() == []


async def test_expires_events_with_finalizers(house: House) -> None:
    """Delete an event whose finalizers nobody removes, as the end of a lease does."""
    await house.write("held", metadata={"name": "held", "namespace": "default", "finalizers": ["example.com/held"]})
    await house.sleep(TTL + 60)
    assert await house.names() == []


async def test_counts_on_after_restarts(house: House) -> None:
    """Keep the age of events over restarts and the time between them."""
    await house.write("early")
    for _ in range(50):
        await house.sleep(60)
        house.uptime = 5.0
        house.expiry = house.started()
    await house.write("late")
    await house.sleep(60)
    house.wall += 600
    house.uptime = 1.0
    house.expiry = house.started()
    await house.expiry.sweep()
    assert await house.names() == ["late"]


@pytest.mark.parametrize("jump", [-1e6, -1800.0, 1800.0, 1e6])
async def test_follows_a_changed_clock(house: House, jump: float) -> None:
    """Expire events neither early nor late when the clock is set while the server runs."""
    await house.write("event")
    await house.sleep(1200)
    house.wall += jump
    await house.sleep(2300)
    assert await house.names() == ["event"]
    await house.sleep(180)
    assert await house.names() == []


async def test_bounds_the_age_when_the_clock_was_set_back(house: House) -> None:
    """Expire events within the limit after a start with a clock that was set back meanwhile."""
    await house.write("event")
    await house.sleep(60)
    house.wall -= 1e6
    house.expiry = house.started()
    await house.sleep(TTL - 60)
    assert await house.names() == ["event"]
    await house.sleep(120)
    assert await house.names() == []


async def test_writes_nothing_without_new_events(house: House) -> None:
    """Write marks only while events are written, and keep few of them."""
    for number in range(100):
        await house.write(f"event-{number}")
        await house.sleep(60)
    await house.sleep(2 * TTL)
    assert await house.names() == []
    before = await house.revision()
    await house.sleep(TTL)
    assert await house.revision() == before


async def test_sweeps_after_an_unexpected_exception(stores: StoreFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Continue after a sweep that raised an unexpected exception."""
    monkeypatch.setattr(event_expiry, "MIN_INTERVAL_SECONDS", 0.0)
    store, swept = stores.store(EVENTS.stored_resource), asyncio.Event()
    surprises: list[Exception] = [ValueError("a surprise")]

    async def listing(_prefix: str, _codec: Codec, _options: ListOptions) -> ListResult:
        if surprises:
            raise surprises.pop()
        swept.set()
        return ListResult(items=[], revision=1)

    monkeypatch.setattr(store, "list", listing)
    expiry = EventExpiry(store, EVENT_KIND.codec(), HostRecords(stores.backend, "/registry"), ttl=0.001)
    sweeping = asyncio.create_task(expiry.run())
    async with asyncio.timeout(30):
        await swept.wait()
    sweeping.cancel()
