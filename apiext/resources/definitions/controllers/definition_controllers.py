"""Controllers of CustomResourceDefinitions: they reconcile the status and finalize deleted definitions.

One queue with one worker reconciles the names, the Established condition and the other conditions: two definitions of a group must
not get the same name at the same time. Another queue finalizes definitions (finalizer.py). Only the catalog's change notifications
fill both queues.
Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go (its controllers) and pkg/controller.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.definitions.catalog_follower import CatalogFollower
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE
from apiext.resources.definitions.controllers.finalizer import Finalizer, needs_cleanup
from apiext.resources.definitions.controllers.naming import accepted_names
from apiext.resources.definitions.controllers.reconcile import depends_on_schemas, reconcile_status, webhook_condition
from apiext.resources.definitions.controllers.status_writer import StatusWriter
from apiext.storage.errors import InvalidObjectError, KeyNotFoundError
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.circuit_breaker import CircuitBreaker
    from apiext.resources.conversion.circuits import ConversionCircuits
    from apiext.resources.definitions.conditions import Condition
    from apiext.resources.definitions.controllers.finalizer import Instances
    from apiext.resources.definitions.controllers.status_writer import RecordFields
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.definitions.definition_informer import DefinitionInformer

_LOG: Final = get_logger(__name__)


class DefinitionControllers:
    """Runs the controllers of definitions.

    `instances` finds and deletes the custom resources of a definition; `record` records the fields that the controllers change;
    `circuits` report which conversion webhooks do not answer.
    """

    def __init__(self, informer: DefinitionInformer, instances: Instances, record: RecordFields, circuits: ConversionCircuits) -> None:
        self._catalog = informer.catalog
        self._circuits = circuits
        self._webhooks: dict[str, Condition] = {}
        """Changes of conversion webhooks that are not written yet, by definition."""
        self._writer = StatusWriter(informer, record)
        self._finalizer = Finalizer(informer, instances, self._writer)
        self._queue = WorkQueue(
            self._sync, log=_LOG, event="definition status update failed, retrying", key_field="definition", retryable=FAILURES
        )
        self._follower = CatalogFollower(informer.catalog, self._on_change)

    def start(self) -> None:
        """Reconcile every later change in the catalog. Call it before the informer starts."""
        self._follower.start({"definition-status": self._queue.run(), "definition-finalizer": self._finalizer.run()})
        self._circuits.subscribe(self._on_webhook)

    async def close(self) -> None:
        """Stop. Unfinished work continues after the next start."""
        await self._follower.close()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Enqueue a changed definition; implements catalog.Listener."""
        if new is None or new.conversion_strategy != "Webhook":
            self._forget_webhook(old)
        if new is None:
            if old is not None:
                # Other definitions may take the released names.
                self._enqueue_waiting(old.group, except_for=old.name)
            return
        self._queue.add(new.name)
        self._check_webhook(new)
        if needs_cleanup(new) and not (old is not None and old.uid == new.uid and needs_cleanup(old)):
            self._finalizer.add(new.name)

    def _on_webhook(self, name: str, circuit: CircuitBreaker) -> None:
        """Enqueue a definition whose webhook stopped answering, or answers again; implements circuits.Listener."""
        self._webhooks[name] = webhook_condition(circuit.error)
        self._queue.add(name)

    def _check_webhook(self, definition: Definition) -> None:
        """Recheck a webhook that another server reported as silent: the next answer corrects the condition, even if that server is gone."""
        circuit = self._circuits.of(definition.name)
        reported = definition.condition(CONVERSION_WEBHOOK_AVAILABLE) if circuit is not None else None
        if circuit is not None and reported is not None and reported["status"] == "False":
            circuit.report_again()

    def _forget_webhook(self, old: Definition | None) -> None:
        if old is not None and old.conversion_strategy == "Webhook":
            self._circuits.forget(old.name)
            self._webhooks.pop(old.name, None)

    def _enqueue_waiting(self, group: str, *, except_for: str) -> None:
        """Enqueue the definitions of a group without accepted names: names may be free now."""
        for definition in self._catalog.all():
            if definition.group == group and definition.name != except_for and not definition.names_accepted:
                self._queue.add(definition.name)

    async def _sync(self, name: str) -> None:
        """Write the reconciled status of a definition, if it has changed."""
        definition = self._catalog.get(name)
        if definition is None:
            return
        crd = definition.object if depends_on_schemas(definition.head) else definition.head
        webhook = self._webhooks.get(name)
        reconcile = partial(self._reconcile_status, webhook=webhook)
        before = definition.head["status"]["acceptedNames"]
        try:
            if reconcile(crd) is not crd:
                await self._writer.update(definition, reconcile)
        except (KeyNotFoundError, InvalidObjectError):
            # Deleted, or deleted and recreated. The watch event brings the new state.
            return
        if self._webhooks.get(name) is webhook:
            self._webhooks.pop(name, None)
        after = self._catalog.get(name)
        if after is not None and after.head["status"]["acceptedNames"] != before:
            self._enqueue_waiting(after.group, except_for=name)

    def _reconcile_status(self, crd: Object, webhook: Condition | None) -> Object:
        return reconcile_status(crd, accepted_names(self._catalog.all(), crd["spec"]["group"]), webhook)
