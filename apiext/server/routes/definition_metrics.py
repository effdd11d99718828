"""Metrics of definitions and of their migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.metrics_core import Metric

    from apiext.api.migration.migration_controller import MigrationController
    from apiext.resources.definitions.catalog import Catalog


class DefinitionMetrics:
    """Renders the conditions of definitions and the open migrations (prometheus_client.registry.Collector)."""

    def __init__(self, catalog: Catalog, migrations: MigrationController | None) -> None:
        self._catalog = catalog
        self._migrations = migrations

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics."""
        from prometheus_client.core import GaugeMetricFamily

        conditions = GaugeMetricFamily(
            "apiext_crd_condition", "1 for the status of each condition of a CRD.", labels=("crd_name", "condition", "status")
        )
        for definition in self._catalog.all():
            for condition in definition.head["status"]["conditions"] or ():
                conditions.add_metric((definition.name, condition["type"], condition["status"]), 1)
        yield conditions
        migrations = GaugeMetricFamily(
            "apiext_storage_version_migrations_unfinished", "StorageVersionMigrations that wait or run.", labels=("resource",)
        )
        for resource, number in self._migrations.unfinished().items() if self._migrations is not None else ():
            migrations.add_metric((resource,), number)
        yield migrations
