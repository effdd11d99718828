"""What people are told on the host."""

import pytest

from apiext.operator import host_definitions
from apiext.operator.api_clients import CRDS, ApiError
from apiext.operator.reporting.event_recorder import Recorder
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.reporting.reporter import Reason
from tests.support.captured_logs import logged
from tests.support.servers.memory_api import Json, MemoryApi
from tests.unit.operator.parts import crd, registered

EVENTS = "/api/v1/namespaces/default/events"
PATH = f"{CRDS}/widgets.example.com"


class Moment:
    """A clock that stands still."""

    now = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def _events(host: MemoryApi) -> list[tuple[str, str, int]]:
    return [(one["reason"], one["type"], one["count"]) for one in host.under(EVENTS).values()]


async def test_events() -> None:
    """They name the object so that kubectl describe finds them; the same is counted, not sooner than after minutes."""
    host, clock = MemoryApi(), Moment()
    recorder = Recorder(host, instance="me", clock=clock)
    await recorder.record(registered(), "Repaired", "a")
    await recorder.record(registered(), "Repaired", "a")
    await recorder.record(crd(), "Failed", "b", warning=True)
    assert _events(host) == [("Repaired", "Normal", 1), ("Failed", "Warning", 1)]

    clock.now += 301
    await recorder.record(registered(), "Repaired", "a")
    assert _events(host) == [("Repaired", "Normal", 2), ("Failed", "Warning", 1)]
    first, second = host.under(EVENTS).values()
    assert first["involvedObject"] == {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "name": "v1.example.com",
        "uid": "uid-v1",
        "resourceVersion": "7",
    }
    assert second["involvedObject"]["kind"] == "CustomResourceDefinition"


async def test_events_that_are_gone_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    """One that has ended is recorded anew; what cannot be recorded is logged, and nothing fails."""
    host, clock = MemoryApi(), Moment()
    recorder = Recorder(host, instance="me", clock=clock)
    await recorder.record(crd(), "Failed", "b")
    host.objects.clear()
    clock.now += 301
    await recorder.record(crd(), "Failed", "b")
    assert _events(host) == [("Failed", "Normal", 1)]

    host.refused["POST", EVENTS] = ApiError("forbidden", code=403)
    await recorder.record(crd(), "Other", "c")
    assert [line["event"] for line in logged(caplog)] == ["an event cannot be recorded"]


class Reporting:
    """A reporter with a definition to speak of."""

    def __init__(self) -> None:
        self.host = MemoryApi()
        self.clock = Moment()
        self.known = self.host.put_in(PATH, crd())
        self.reporter = GroupReporter(self.host, Recorder(self.host, instance="me", clock=self.clock), self._written, self.clock)

    def _written(self, found: Json) -> None:
        self.known = found

    async def say(self, reason: Reason, message: str) -> tuple[str, str]:
        """Say it, and what the condition is then."""
        await self.reporter.condition([self.known], reason, message)
        said = host_definitions.condition_of(self.host.objects[PATH]) or {}
        return said.get("reason", ""), said.get("message", "")


async def test_progress_is_told_now_and_then() -> None:
    """Messages of one reason change the condition every other second; another reason does at once, and is an event."""
    reporting = Reporting()
    assert await reporting.say(Reason.ADOPTING, "1 of 3") == ("Adopting", "1 of 3")
    assert await reporting.say(Reason.ADOPTING, "2 of 3") == ("Adopting", "1 of 3")
    reporting.clock.now += 3
    assert await reporting.say(Reason.ADOPTING, "3 of 3") == ("Adopting", "3 of 3")
    assert await reporting.say(Reason.SERVING, "all") == ("Serving", "all")

    assert _events(reporting.host) == [("Adopting", "Normal", 1), ("Serving", "Normal", 1)]


async def test_what_is_served_and_cannot_be_reached() -> None:
    """With an obstacle the group is not served, whatever its steps say, and that is not written again and again."""
    reporting = Reporting()
    reporting.reporter.obstacle = "connection: refused"
    assert await reporting.say(Reason.SERVING, "all") == ("Failed", "connection: refused")
    before = len(reporting.host.written())
    assert await reporting.say(Reason.SERVING, "all") == ("Failed", "connection: refused")
    assert len(reporting.host.written()) == before

    reporting.reporter.obstacle = ""
    assert await reporting.say(Reason.SERVING, "all") == ("Serving", "all")


async def test_a_condition_that_cannot_be_set(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with what it would have said."""
    reporting = Reporting()
    reporting.host.refused["PATCH", f"{PATH}/status"] = ApiError("forbidden", code=403)
    await reporting.say(Reason.BLOCKED, "why")

    assert [(line["event"], line["message"]) for line in logged(caplog)] == [("a condition cannot be set", "why")]
