"""Who acts."""

import asyncio
from typing import Any

import pytest

from apiext.operator.api_clients import ApiError
from apiext.operator.leader_election.lease import NAME, Elector, Observed, Timing
from tests.support.captured_logs import logged
from tests.support.servers.memory_api import MemoryApi

LEASES = "/apis/coordination.k8s.io/v1/namespaces/here/leases"
LEASE = f"{LEASES}/{NAME}"
QUICK = Timing(lease=60.0, renew=0.2, retry=0.01)


class Actor:
    """One operator."""

    def __init__(self, host: MemoryApi, identity: str, timing: Timing = QUICK, clock: Any = None) -> None:
        more = {"clock": clock} if clock else {}
        self.elector = Elector(host, namespace="here", identity=identity, timing=timing, **more)
        self.acts = asyncio.Event()
        self.ended = asyncio.Event()
        self.task = asyncio.create_task(self.elector.run(self._lead))

    async def _lead(self) -> None:
        self.acts.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.acts.clear()
            self.ended.set()

    async def stop(self) -> None:
        """As SIGTERM does."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def _spec(host: MemoryApi) -> dict[str, Any]:
    found: dict[str, Any] = host.objects[LEASE]["spec"]
    return found


async def test_one_of_two_acts() -> None:
    """The first one has it and renews it; the other waits, and has it as soon as the first one says that it goes."""
    host = MemoryApi()
    first = Actor(host, "first")
    await first.acts.wait()
    second = Actor(host, "second")
    await host.until(lambda: len(host.written()) >= 4)
    assert not second.acts.is_set()
    assert (_spec(host)["holderIdentity"], _spec(host)["leaseDurationSeconds"], _spec(host)["leaseTransitions"]) == ("first", 60, 0)

    await first.stop()
    await second.acts.wait()
    assert first.ended.is_set()
    assert (_spec(host)["holderIdentity"], _spec(host)["leaseTransitions"]) == ("second", 1)
    await second.stop()
    assert _spec(host)["holderIdentity"] == ""


async def test_who_goes_without_a_word() -> None:
    """A lease that is not renewed for its time, by this operator's own clock, is free."""
    host, moment = MemoryApi(), 100.0
    host.put_in(LEASE, {"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}})
    actor = Actor(host, "me", clock=lambda: moment)
    await host.until(lambda: len(host.calls) >= 5)
    assert not actor.acts.is_set()

    moment = 115.0
    await actor.acts.wait()
    await actor.stop()


async def test_who_cannot_renew_stops() -> None:
    """When the host has not answered for the time to renew nothing is done any more, and it acts again when it answers."""
    host = MemoryApi()
    actor = Actor(host, "me")
    await actor.acts.wait()
    host.down = True
    await actor.ended.wait()
    assert not actor.acts.is_set()

    host.down = False
    await actor.acts.wait()
    await actor.stop()


async def test_who_has_lost_it_stops() -> None:
    """Where somebody else has the lease nothing is done any more, and the lease is his."""
    host = MemoryApi()
    actor = Actor(host, "me")
    await actor.acts.wait()
    host.put_in(LEASE, {"spec": {"holderIdentity": "other", "leaseDurationSeconds": 60, "renewTime": "now"}})
    await actor.ended.wait()
    await actor.stop()

    assert _spec(host)["holderIdentity"] == "other"


async def test_what_fails_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """A namespace that is not there is told, and tried again."""
    host = MemoryApi()
    host.refused["POST", LEASES] = ApiError('namespaces "here" not found', code=404)
    actor = Actor(host, "me")
    await host.until(lambda: len(host.calls) >= 10)
    host.refused.clear()
    await actor.acts.wait()
    await actor.stop()

    assert [line["error"] for line in logged(caplog) if line["event"] == "the lease cannot be had"] == ['namespaces "here" not found']


async def test_acting_that_fails_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    """The lease is given back, and taken again."""
    host, times, done = MemoryApi(), 0, asyncio.Event()

    async def lead() -> None:
        nonlocal times
        times += 1
        if times == 1:
            raise RuntimeError("defect")
        done.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Elector(host, namespace="here", identity="me", timing=QUICK).run(lead))
    await done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert [line["error"] for line in logged(caplog) if line["event"] == "acting failed"] == ["RuntimeError: defect"]


def test_observed() -> None:
    """The time of a lease begins when it was first seen so."""
    lease = {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "x"}}
    first = Observed().seen(lease, 10.0)

    assert first.seen(lease, 20.0) is first
    assert not first.free_for("b", 24.9)
    assert first.free_for("b", 25.0)
    assert first.free_for("a", 11.0)
    assert not first.seen({"spec": lease["spec"] | {"renewTime": "y"}}, 24.0).free_for("b", 30.0)
