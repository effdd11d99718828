"""The metrics of audit."""

from apiext.api.audit.backend import AuditStats
from apiext.api.audit.levels import AuditLevel
from apiext.server.routes.audit_metrics import AuditMetrics


def test_counters() -> None:
    """Render the reference's counters."""
    stats = AuditStats()
    stats.events, stats.rejected = 3, 1
    stats.levels[AuditLevel.REQUEST_RESPONSE] += 2
    stats.lose("buffered", 4, "full")
    stats.lose("buffered", 1, "full")
    samples = {
        (sample.name, *sample.labels.values()): sample.value for metric in AuditMetrics(stats).collect() for sample in metric.samples
    }

    assert samples == {
        ("apiserver_audit_event_total",): 3,
        ("apiserver_audit_error_total", "buffered"): 5,
        ("apiserver_audit_level_total", "RequestResponse"): 2,
        ("apiserver_audit_requests_rejected_total",): 1,
    }
