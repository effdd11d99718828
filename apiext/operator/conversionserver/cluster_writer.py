"""All that the leader writes to the cluster: spec.conversion of CRDs and XRDs, events about them, and the status of Conversion objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.operator.api_clients import CRDS, ApiClient, ApiError, Json
from apiext.operator.conversionserver.cluster_objects import STRATEGY, WEBHOOK, wish_of
from apiext.resources.conversion.rules.model import API_VERSION, PLURAL
from apiext.resources.conversion.rules.reporting.status import RulesUsage
from apiext.resources.conversion.rules.reporting.status_controller import ConversionStatusController

if TYPE_CHECKING:
    from apiext.operator.conversionserver.cluster_objects import ClusterDefinitions, ClusterObjects
    from apiext.operator.conversionserver.conversions import Conversions
    from apiext.operator.conversionserver.installation import Installation
    from apiext.operator.conversionserver.webhook_target import WebhookTarget
    from apiext.resources.conversion.rules.reporting.status_controller import StatusBackend


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


CONVERSIONS: Final = f"/apis/{API_VERSION}/{PLURAL}"
_MEMBERS: Final = ("observedGeneration", "conditions", "problems", "warnings", "losses")
"""All members of a status: a merge patch removes those that a new one does not have."""


class ConversionStatusWriter:
    """Implements StatusBackend for a cluster."""

    retryable: tuple[type[Exception], ...] = (ApiError,)

    def __init__(self, host: ApiClient, target: WebhookTarget, definitions: ClusterDefinitions, conversions: Conversions) -> None:
        self._host = host
        self._conversions = conversions
        self._target = target
        self._definitions = definitions

    async def definition(self, name: str) -> Json | None:
        """Implement StatusBackend.definition."""
        return await self._host.find(f"{CRDS}/{name}")

    async def write_status(self, name: str, status: Json) -> None:
        """Implement StatusBackend.write_status."""
        try:
            await self._host.patch(f"{CONVERSIONS}/{name}/status", {"status": {**dict.fromkeys(_MEMBERS), **status}})
        except ApiError as error:
            if error.code != 404:
                raise

    def usage(self, name: str) -> RulesUsage:
        """Implement StatusBackend.usage: rules are used where spec.conversion of the CRD calls this webhook."""
        crd, holder = self._definitions.crds.get(name), self._definitions.holder(name)
        if crd is not None and self._target.is_called_by(crd["spec"]["conversion"]):
            message, continues = f"spec.conversion of the CRD calls {self._target}.", self._conversions.converts(name)
            return RulesUsage(is_used=True, reason="Webhook", message=message, continues=continues)
        kind = "CRD" if holder is None else holder.kind
        if holder is not None and wish_of(holder.object) == WEBHOOK:
            return RulesUsage(is_used=False, reason="Pending", message=f"spec.conversion of the {kind} is not written yet.")
        return RulesUsage(is_used=False, reason="NotRequested", message=f"The {kind} does not have the annotation {STRATEGY}: {WEBHOOK}.")
