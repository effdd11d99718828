"""Alarms of etcd."""

from contextlib import AsyncExitStack

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from apiext.server.composition.store_alarms import StoreAlarms, follow_alarms
from apiext.server.routes.storage_metrics import StorageMetrics
from apiext.storage.backend import AlarmsError, UnavailableError
from apiext.storage.backends.fixed_backend import FixedBackend
from apiext.storage.backends.measured_backend import MeasuredBackend
from tests.support.captured_logs import logged
from tests.support.event_loop import until


class Alarming(FixedBackend):
    """A backend whose question for alarms raises `error`, if it is set."""

    error: Exception | None = None

    async def writable(self) -> None:
        """Raise the error."""
        if self.error is not None:
            raise self.error


@pytest.fixture
def inner() -> Alarming:
    """Provide the store."""
    return Alarming({}, revision=7)


async def test_reports_alarms_until_they_end(inner: Alarming, caplog: pytest.LogCaptureFixture) -> None:
    """Show alarms as remarks and metrics, keep them while etcd does not answer, and log each change once."""
    caplog.set_level("INFO")
    backend = MeasuredBackend(inner, "/registry")
    alarms, registry = StoreAlarms(backend), CollectorRegistry()
    registry.register(StorageMetrics(backend, lambda: None))
    metric = b'apiext_etcd_alarms{alarm="NOSPACE"} 1.0'
    await alarms.ask()
    assert (alarms.remarks(), metric in generate_latest(registry)) == ([], False)

    for error in (AlarmsError(["NOSPACE"]), AlarmsError(["NOSPACE"]), UnavailableError("gone")):
        inner.error = error
        await alarms.ask()
        assert alarms.remarks() == ["NOSPACE: etcd refuses all writes but deletions"]
        assert metric in generate_latest(registry)

    inner.error = None
    await alarms.ask()
    assert (alarms.remarks(), metric in generate_latest(registry)) == ([], False)
    assert [line["event"] for line in logged(caplog) if "alarms" in line["event"]] == ["etcd has alarms", "etcd has no alarms any more"]


async def test_check_passes_with_an_alarm(inner: Alarming) -> None:
    """Ask at once, and leave the server ready: it serves reads."""
    inner.error = AlarmsError(["CORRUPT"])
    async with AsyncExitStack() as stack:
        check = follow_alarms(MeasuredBackend(inner, "/registry"), stack)
        await until(lambda: bool(check.remarks()))
        await check.probe()

    assert check.remarks() == ["CORRUPT: the data of a member of etcd are damaged"]
