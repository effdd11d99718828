"""Controllers of CustomResourceDefinitions: they reconcile the status and finalize deleted definitions.

One queue with one worker reconciles the names, the Established condition and the other conditions: two definitions of a group must
not get the same name at the same time. Another queue finalizes definitions (Finalizer). Only the catalog's change notifications
fill both queues.
Mirrors apiextensions-apiserver pkg/apiserver/apiserver.go (its controllers) and pkg/controller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta.errors import public_text
from apiext.base.meta.field import aggregate
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.workqueue import RequeueError, WorkQueue
from apiext.resources.definitions import conditions
from apiext.resources.definitions.catalog import CatalogFollower
from apiext.resources.definitions.conditions import CLEANUP_FINALIZER, CONVERSION_WEBHOOK_AVAILABLE, TERMINATING, Condition
from apiext.resources.definitions.controllers.naming import accepted_names
from apiext.resources.definitions.controllers.reconcile import depends_on_schemas, reconcile_status, webhook_condition
from apiext.resources.definitions.controllers.status_writer import StatusWriter
from apiext.storage.errors import InvalidObjectError, KeyNotFoundError
from apiext.storage.interface import Preconditions, WriteOptions
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.circuit_breaker import CircuitBreaker
    from apiext.resources.conversion.circuits import ConversionCircuits
    from apiext.resources.definitions.controllers.status_writer import RecordFields
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.definitions.definition_informer import DefinitionInformer


_WORKERS: Final = 100
"""Definitions to finalize at the same time. Each may wait for its instances for `TIMEOUT_SECONDS` seconds."""
_MIN_PAUSE_SECONDS: Final = 0.05
_MAX_PAUSE_SECONDS: Final = 5.0
"""Seconds between checks for remaining instances, and before retries: doubled each time, from the first to the second."""
TIMEOUT_SECONDS: Final = 60.0
"""Seconds after which the condition reports remaining instances."""


class Instances(Protocol):
    """Instances of definitions. Every method raises StatusError, StorageError or BackendError."""

    async def namespaces(self, definition: Definition) -> Collection[str]:
        """Return the namespaces that contain instances, sorted; "" stands for cluster-scoped instances."""
        ...

    async def delete(self, definition: Definition, namespace: str) -> None:
        """Delete all instances in a namespace. Instances with finalizers remain until those are removed."""
        ...


OVERLAPPING: Final = frozenset({("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")})
"""Groups and resources of built-in objects, which the end of a definition with the same name must not delete."""

_IN_PROGRESS: Final = Condition(TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = Condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
_NEVER_ESTABLISHED: Final = Condition(TERMINATING, "False", "NeverEstablished", "resource was never established")
_OVERLAPS: Final = Condition(TERMINATING, "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage")


class _HasOtherFinalizersError(Exception):
    """The definition has other finalizers."""


class Finalizer:
    """Finalizes definitions that are being deleted."""

    def __init__(self, informer: DefinitionInformer, instances: Instances, writer: StatusWriter) -> None:
        self._informer = informer
        self._instances = instances
        self._writer = writer
        self._queue = WorkQueue(
            self._sync,
            log=_LOG,
            event="definition finalization failed, retrying",
            key_field="definition",
            retryable=FAILURES,
            workers=_WORKERS,
            pauses=(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS),
        )

    def add(self, name: str) -> None:
        """Enqueue a definition for finalization, with retries until success."""
        self._queue.add(name)

    async def run(self) -> None:
        """Finalize enqueued definitions until cancelled."""
        await self._queue.run()

    async def _sync(self, name: str) -> None:
        definition = self._informer.catalog.get(name)
        if definition is None or not needs_cleanup(definition):
            return
        try:
            await self._finalize(definition)
        except (KeyNotFoundError, InvalidObjectError):
            # Removed, or removed and recreated. The watch event brings the new state.
            return

    async def _finalize(self, definition: Definition) -> None:
        await self._report(definition, _IN_PROGRESS)
        if definition.is_reserved or (definition.group, definition.names.plural) in OVERLAPPING:
            last = _OVERLAPS
        elif definition.is_established:
            await self._delete_instances(definition)
            last = _COMPLETED
        else:
            last = _NEVER_ESTABLISHED
        await self._remove_finalizer(definition, last)

    async def _delete_instances(self, definition: Definition) -> None:
        """Delete all instances and wait until none is left. Write a failure into the condition before raising it."""
        try:
            namespaces = await self._instances.namespaces(definition)
        except FAILURES as error:
            await self._report_failure(definition, "InstanceDeletionFailed", f"could not list instances: {public_text(error)}")
            raise
        failures: list[Exception] = []
        for namespace in namespaces:
            try:
                await self._instances.delete(definition, namespace)
            except FAILURES as error:
                failures.append(error)
        if failures:
            message = f"could not issue all deletes: {aggregate(map(public_text, failures))}"
            await self._report_failure(definition, "InstanceDeletionFailed", message)
            raise failures[0]
        try:
            await self._wait_until_deleted(definition)
        except (*FAILURES, RequeueError) as error:
            message = f"could not confirm zero CustomResources remaining: {public_text(error)}"
            await self._report_failure(definition, "InstanceDeletionCheck", message)
            raise

    async def _wait_until_deleted(self, definition: Definition) -> None:
        """Wait until no instance is left. Raises RequeueError after `TIMEOUT_SECONDS` seconds."""
        loop, backoff = asyncio.get_running_loop(), Backoff(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        deadline = loop.time() + TIMEOUT_SECONDS
        while await self._instances.namespaces(definition):
            if loop.time() >= deadline:
                raise RequeueError("context deadline exceeded")
            await backoff.pause()

    async def _report_failure(self, definition: Definition, reason: str, message: str) -> None:
        await self._report(definition, Condition(TERMINATING, "True", reason, message))

    async def _report(self, definition: Definition, condition: Condition) -> None:
        """Write the Terminating condition, if it has changed."""

        def change(existing: Object) -> Object:
            crd = dict(existing)
            conditions.put(crd, condition)
            return crd

        await self._writer.update(definition, change)

    async def _remove_finalizer(self, definition: Definition, last: Condition) -> None:
        """Remove the cleanup finalizer and write the last condition. Delete the definition if no other finalizer is left."""

        async def require_no_other(existing: Object) -> None:
            if existing["metadata"].get("finalizers", []) not in ([], [CLEANUP_FINALIZER]):
                raise _HasOtherFinalizersError

        def change(existing: Object) -> Object:
            finalizers = [name for name in existing["metadata"].get("finalizers", ()) if name != CLEANUP_FINALIZER]
            crd = existing | {"metadata": existing["metadata"] | {"finalizers": finalizers}}
            conditions.put(crd, last)
            return crd

        informer = self._informer
        options = WriteOptions(preconditions=Preconditions(uid=definition.uid), validate=require_no_other)
        try:
            item = await informer.store.delete(definition.name, informer.codec, options)
        except _HasOtherFinalizersError:
            await self._writer.update(definition, change)
        else:
            informer.forget(definition.name, item.revision)


def needs_cleanup(definition: Definition) -> bool:
    """Report whether a definition is terminating and has the cleanup finalizer."""
    return definition.is_terminating and CLEANUP_FINALIZER in definition.head["metadata"].get("finalizers", ())


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
