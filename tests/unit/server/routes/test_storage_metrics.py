"""Metrics of the store and of definitions."""

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from apiext.server.routes.definition_metrics import DefinitionMetrics
from apiext.server.routes.storage_metrics import StorageMetrics
from apiext.storage.backends.fixed_backend import FixedBackend
from apiext.storage.backends.measured_backend import MeasuredBackend
from tests.support.builders.crds import catalog, widget_crd

KEY = "/registry/example.com/widgets/default/one"


def _text(collector: StorageMetrics | DefinitionMetrics) -> str:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


async def test_calls_and_revisions() -> None:
    """Render calls under the reference's names, and how far store and caches are."""
    backend = MeasuredBackend(FixedBackend({KEY: b"{}"}, revision=7), "/registry")
    await backend.get(KEY)
    labels = 'group="example.com",operation="get",resource="widgets"'

    text = _text(StorageMetrics(backend, lambda: 5))
    assert f"etcd_requests_total{{{labels}}} 1.0" in text
    assert f"etcd_request_errors_total{{{labels}}} 0.0" in text
    assert 'etcd_request_duration_seconds_bucket{group="example.com",le="0.005",operation="get",resource="widgets"} 1.0' in text
    assert "apiext_store_revision 7.0" in text
    assert "apiext_watch_cache_revision 5.0" in text
    assert "apiext_watch_cache_revision" not in _text(StorageMetrics(backend, lambda: None))


def test_conditions() -> None:
    """Render the status of each condition of each CRD."""
    crd = widget_crd() | {
        "status": {"conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "False"}]}
    }

    text = _text(DefinitionMetrics(catalog(crd), None))
    assert 'apiext_crd_condition{condition="Established",crd_name="widgets.example.com",status="True"} 1.0' in text
    assert 'apiext_crd_condition{condition="NamesAccepted",crd_name="widgets.example.com",status="False"} 1.0' in text
