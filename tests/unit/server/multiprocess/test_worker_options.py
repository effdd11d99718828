"""The options of one worker."""

from pathlib import Path

from apiext.api.audit.backend import BatchOptions
from apiext.api.flowcontrol.seat_part import SeatPart
from apiext.server.multiprocess.start import worker_options
from apiext.server.options.audit import AuditOptions, AuditWebhookOptions
from apiext.server.options.options import LimitOptions, ServerOptions, ServingOptions, StorageOptions


def _options(limits: LimitOptions, audit: AuditOptions = AuditOptions()) -> ServerOptions:  # noqa: B008 -- a value
    return ServerOptions(
        serving=ServingOptions(cert_dir=Path("/pki")), storage=StorageOptions(data_dir=Path("/data")), limits=limits, audit=audit, workers=3
    )


def test_limits_are_divided() -> None:
    """Divide the concurrent requests with exact remainders; 0 remains no limit."""
    whole = _options(LimitOptions(priority_and_fairness=False, max_in_flight=400, max_mutating_in_flight=0))

    parts = [worker_options(whole, index).limits for index in range(3)]

    assert [limits.max_in_flight for limits in parts] == [134, 133, 133]
    assert [limits.max_mutating_in_flight for limits in parts] == [0, 0, 0]


def test_seats_are_divided_by_level() -> None:
    """Keep the sum of the seats, of which each level's are divided."""
    limits = worker_options(_options(LimitOptions(max_in_flight=7, max_mutating_in_flight=5)), 2).limits

    assert (limits.max_in_flight, limits.max_mutating_in_flight, limits.part) == (7, 5, SeatPart(2, 3))


def test_batches_of_audit_events_are_divided() -> None:
    """Send together as many batches a second as one process may."""
    webhook = AuditWebhookOptions(config_file=Path("/config"), batch=BatchOptions(qps=9, burst=2))

    found = worker_options(_options(LimitOptions(), AuditOptions(webhook=webhook)), 0).audit.webhook

    assert found is not None
    assert (found.batch.qps, found.batch.burst) == (3, 1)
