"""Conditions and events on the host."""

import pytest

from apiext.base.meta import host_annotations
from apiext.operator.api_clients import CRDS, ApiError
from apiext.operator.group_state import condition_of
from apiext.operator.host_definitions import ConditionReason
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.reporting.group_reporter import GroupReporter
from tests.support.captured_logs import logged
from tests.support.event_loop import Clock
from tests.support.servers.memory_api import Json, MemoryApi
from tests.unit.operator.parts import crd, registered

EVENTS = "/api/v1/namespaces/default/events"
PATH = f"{CRDS}/widgets.example.com"


def _events(host: MemoryApi) -> list[tuple[str, str, int]]:
    return [(one["reason"], one["type"], one["count"]) for one in host.under(EVENTS).values()]


async def test_counts_repeated_events() -> None:
    """Refer to the object as kubectl describe needs it, and count a repeated event after some minutes."""
    host, clock = MemoryApi(), Clock()
    recorder = EventRecorder(host, instance="me", clock=clock)
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


async def test_survives_missing_and_rejected_events(caplog: pytest.LogCaptureFixture) -> None:
    """Record an expired event again, and log an event that is rejected."""
    host, clock = MemoryApi(), Clock()
    recorder = EventRecorder(host, instance="me", clock=clock)
    await recorder.record(crd(), "Failed", "b")
    host.objects.clear()
    clock.now += 301
    await recorder.record(crd(), "Failed", "b")
    assert _events(host) == [("Failed", "Normal", 1)]

    host.refused["POST", EVENTS] = ApiError("forbidden", code=403)
    await recorder.record(crd(), "Other", "c")
    assert [line["event"] for line in logged(caplog)] == ["event not recorded on the host"]


class Reporting:
    """A reporter with a definition."""

    def __init__(self) -> None:
        self.host = MemoryApi()
        self.clock = Clock()
        self.known = self.host.put_in(PATH, crd())
        self.reporter = GroupReporter(self.host, EventRecorder(self.host, instance="me", clock=self.clock), self._written, self.clock)

    def _written(self, found: Json) -> None:
        self.known = found

    async def report(self, reason: ConditionReason, message: str) -> tuple[str, str]:
        """Report a condition, and return the definition's condition."""
        await self.reporter.condition([self.known], reason, message)
        said = condition_of(self.host.objects[PATH], host_annotations.CONDITION)
        return said.get("reason", ""), said.get("message", "")


async def test_limits_progress_messages() -> None:
    """Change the message of one reason every other second, and another reason at once with an event."""
    reporting = Reporting()
    assert await reporting.report(ConditionReason.ADOPTING, "1 of 3") == ("Adopting", "1 of 3")
    assert await reporting.report(ConditionReason.ADOPTING, "2 of 3") == ("Adopting", "1 of 3")
    reporting.clock.now += 3
    assert await reporting.report(ConditionReason.ADOPTING, "3 of 3") == ("Adopting", "3 of 3")
    assert await reporting.report(ConditionReason.SERVING, "all") == ("Serving", "all")

    assert _events(reporting.host) == [("Adopting", "Normal", 1), ("Serving", "Normal", 1)]


async def test_reports_an_obstacle_once() -> None:
    """Report Failed instead of Serving while there is an obstacle, and write it once."""
    reporting = Reporting()
    reporting.reporter.obstacle = "connection: refused"
    assert await reporting.report(ConditionReason.SERVING, "all") == ("Failed", "connection: refused")
    before = len(reporting.host.written())
    assert await reporting.report(ConditionReason.SERVING, "all") == ("Failed", "connection: refused")
    assert len(reporting.host.written()) == before

    reporting.reporter.obstacle = ""
    assert await reporting.report(ConditionReason.SERVING, "all") == ("Serving", "all")


async def test_logs_a_rejected_condition(caplog: pytest.LogCaptureFixture) -> None:
    """Log a condition that is rejected."""
    reporting = Reporting()
    reporting.host.refused["PATCH", f"{PATH}/status"] = ApiError("forbidden", code=403)
    await reporting.report(ConditionReason.BLOCKED, "why")

    assert [(line["event"], line["message"]) for line in logged(caplog)] == [("condition of definition not set", "why")]
