"""All that the leader writes to the cluster: spec.conversion of CRDs, events about them, and the status of Conversion objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.rules.reporting.status_controller import ConversionStatusController

if TYPE_CHECKING:
    from apiext.operator.conversionserver.cluster_objects import ClusterObjects
    from apiext.operator.conversionserver.installation import Installation
    from apiext.resources.conversion.rules.reporting.status_backend import StatusBackend


class ClusterWriter:
    """The work of one leader session."""

    def __init__(self, installation: Installation, backend: StatusBackend, conversions: ClusterObjects) -> None:
        self._installation = installation
        self._backend = backend
        self._conversions = conversions
        self._statuses: ConversionStatusController | None = None
        """None before and after `run`."""

    async def run(self) -> None:
        """Work until cancelled."""
        self._statuses = ConversionStatusController(self._backend)
        try:
            for conversion in self._conversions.all():
                self._statuses.put(conversion)
            await self._installation.run()
        finally:
            await self._statuses.close()
            self._statuses = None

    def on_change(self, name: str) -> None:
        """Check a CRD and its Conversion object soon, because one of them has changed."""
        if self._statuses is not None:
            conversion = self._conversions.get(name)
            if conversion is None:
                self._statuses.remove(name)
            else:
                self._statuses.put(conversion)
        self._installation.on_change(name)
