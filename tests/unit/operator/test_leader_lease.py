"""Leader election."""

import asyncio
from typing import Any

import pytest

from apiext.base.meta.host_annotations import SERVICE
from apiext.operator.api_clients import ApiError
from apiext.operator.leader_lease import NAME, LeaderElector, ObservedLease, lead_without_election
from apiext.operator.options import LeaseTiming
from tests.support.captured_logs import logged
from tests.support.event_loop import until
from tests.support.servers.memory_api import MemoryApi

LEASES = "/apis/coordination.k8s.io/v1/namespaces/here/leases"
LEASE = f"{LEASES}/{NAME}"
QUICK = LeaseTiming(lease=60.0, renew=30.0, retry=0.01)


class Actor:
    """An operator that records when it leads."""

    def __init__(self, host: MemoryApi, identity: str, timing: LeaseTiming = QUICK, clock: Any = None) -> None:
        more = {"clock": clock} if clock else {}
        self.elector = LeaderElector(host, namespace="here", identity=identity, timing=timing, **more)
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
        """Stop as after SIGTERM."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def _spec(host: MemoryApi) -> dict[str, Any]:
    found: dict[str, Any] = host.objects[LEASE]["spec"]
    return found


async def test_one_of_two_leads() -> None:
    """Keep the lease with the first operator while it renews it, and pass it to the second at its release."""
    host = MemoryApi()
    first = Actor(host, "first")
    await first.acts.wait()
    second = Actor(host, "second")
    assert not second.elector.has_read_lease
    await until(lambda: len(host.written()) >= 4)
    await until(lambda: second.elector.has_read_lease)
    assert not second.acts.is_set()
    assert (_spec(host)["holderIdentity"], _spec(host)["leaseDurationSeconds"], _spec(host)["leaseTransitions"]) == ("first", 60, 0)

    await first.stop()
    await second.acts.wait()
    assert first.ended.is_set()
    assert (_spec(host)["holderIdentity"], _spec(host)["leaseTransitions"]) == ("second", 1)
    await second.stop()
    assert _spec(host)["holderIdentity"] == ""


async def test_takes_an_expired_lease() -> None:
    """Take a lease that was not renewed for its duration, by the own clock."""
    host, moment = MemoryApi(), 100.0
    host.put_in(LEASE, {"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}})
    actor = Actor(host, "me", clock=lambda: moment)
    await until(lambda: len(host.calls) >= 5)
    assert not actor.acts.is_set()

    moment = 115.0
    await actor.acts.wait()
    await actor.stop()


async def test_stops_after_the_renew_deadline() -> None:
    """Stop when the lease cannot be renewed before the deadline, and lead again when the host answers."""
    host, moment = MemoryApi(), 100.0
    actor = Actor(host, "me", clock=lambda: moment)
    await actor.acts.wait()
    host.down = True
    moment += QUICK.renew
    await actor.ended.wait()
    assert not actor.acts.is_set()

    host.down = False
    await actor.acts.wait()
    await actor.stop()


async def test_stops_when_another_operator_holds_the_lease() -> None:
    """Stop when another operator holds the lease, and do not take it."""
    host = MemoryApi()
    actor = Actor(host, "me")
    await actor.acts.wait()
    host.put_in(LEASE, {"spec": {"holderIdentity": "other", "leaseDurationSeconds": 60, "renewTime": "now"}})
    await actor.ended.wait()
    await actor.stop()

    assert _spec(host)["holderIdentity"] == "other"


async def test_logs_a_problem_once(caplog: pytest.LogCaptureFixture) -> None:
    """Log a missing namespace once, and retry."""
    host = MemoryApi()
    host.refused["POST", LEASES] = ApiError('namespaces "here" not found', code=404)
    actor = Actor(host, "me")
    await until(lambda: len(host.calls) >= 10)
    host.refused.clear()
    await actor.acts.wait()
    await actor.stop()

    assert [line["error"] for line in logged(caplog) if line["event"] == "leader lease cannot be acquired or renewed"] == [
        'namespaces "here" not found'
    ]


async def test_starts_over_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Release the lease after a failure, and acquire it again."""
    host, times, done = MemoryApi(), 0, asyncio.Event()

    async def lead() -> None:
        nonlocal times
        times += 1
        if times == 1:
            raise RuntimeError("defect")
        done.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(LeaderElector(host, namespace="here", identity="me", timing=QUICK).run(lead))
    await done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert [line["error"] for line in logged(caplog) if line["event"] == "leader session failed, retrying"] == ["RuntimeError: defect"]


async def test_leads_again_without_election(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lead again after a failure, and after an end, until cancelled."""
    monkeypatch.setattr("apiext.operator.leader_lease.SESSION_RETRY_SECONDS", 0.01)
    times, done = 0, asyncio.Event()

    async def lead() -> None:
        nonlocal times
        times += 1
        if times == 1:
            raise RuntimeError("defect")
        if times == 3:
            done.set()

    task = asyncio.create_task(lead_without_election(lead))
    await done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert task.cancelled()
    assert [line["event"] for line in logged(caplog)] == ["leader session failed, retrying"]


def test_counts_from_the_first_observation() -> None:
    """Count the duration of a lease from its first observation."""
    lease = {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "x"}}
    first = ObservedLease().update(lease, 10.0)

    assert first.update(lease, 20.0) is first
    assert not first.is_free_for("b", 24.9)
    assert first.is_free_for("b", 25.0)
    assert first.is_free_for("a", 11.0)
    assert not first.update({"spec": lease["spec"] | {"renewTime": "y"}}, 24.0).is_free_for("b", 30.0)


async def test_names_the_installation() -> None:
    """Write the Service of the installation to a new lease, and to one of an earlier release, whose other annotations stay."""
    host = MemoryApi()
    for annotations in (None, {"other": "x"}):
        if annotations is not None:
            host.put_in(LEASE, host.objects[LEASE] | {"metadata": {"name": NAME, "annotations": annotations}})
        elector = LeaderElector(host, namespace="here", identity="me", timing=QUICK, service="ns/svc")
        task = asyncio.create_task(elector.run(asyncio.Event().wait))  # type: ignore[arg-type]
        await until(lambda: host.objects.get(LEASE, {}).get("spec", {}).get("holderIdentity") == "me")
        await until(lambda: SERVICE in (host.objects[LEASE]["metadata"].get("annotations") or {}))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert host.objects[LEASE]["metadata"]["annotations"] == {**(annotations or {}), SERVICE: "ns/svc"}
