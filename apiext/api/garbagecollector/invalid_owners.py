"""Events about owner references to objects of other namespaces (reportInvalidNamespaceOwnerRef of graph_builder.go).

The reference has a node for each object and knows the namespace of an owner. Here the owner is searched by its uid among the objects of
its kind and name: only where a dependent names an owner that never was in its namespace.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.write import create_stored, perform_own
from apiext.api.endpoints.parameters.options import WriteQuery
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.api.endpoints.serializers.negotiation import JSON
from apiext.api.garbagecollector.served_objects import MANAGER, USER
from apiext.base.meta import errors, time
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.time_slice import Pace
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.storage.paged_reads import latest_pages
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.garbagecollector.graph import NamedOwner
    from apiext.api.garbagecollector.served_objects import Kinds, ServedObjects
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.storage.backend import Backend
    from apiext.storage.stored_bytes.object_links import OwnerReference

_LOG: Final = get_logger(__name__)
_COMPONENT: Final = "garbage-collector-controller"
_REASON: Final = "OwnerRefInvalidNamespace"
_NAMESPACE: Final = "default"
"""The namespace of events about objects without a namespace."""
_MAX_OBJECTS: Final = 10_000
"""Most objects of a kind that are searched for an owner."""
_MAX_DEPENDENTS: Final = 100
"""Most events about one owner."""
_MAX_PENDING: Final = 1000
"""Most owners of a kind to search at once. Further ones are collected without an event."""
_PAUSE_SECONDS: Final = 1.0
"""Seconds between two searches of a kind, which look for all owners that were named meanwhile."""


@dataclass(frozen=True, slots=True)
class _Dependent:
    key: str
    uid: str
    namespace: str


class InvalidOwners:
    """Searches for the owners that it gets, and records events about their dependents. `events` is the scope of Events."""

    def __init__(self, kinds: Kinds, objects: ServedObjects, backend: Backend, events: Scope, workers: WorkerPool) -> None:
        self._kinds = kinds
        self._objects = objects
        self._backend = backend
        self._events = events
        self._workers = workers
        self._pending: dict[str, dict[str, list[tuple[OwnerReference, list[_Dependent]]]]] = {}
        """References with their dependents by the prefix of the owner's keys, then by its name."""
        self._queue = WorkQueue(
            self._search, log=_LOG, event="search for owners in other namespaces failed, retrying", key_field="prefix", retryable=FAILURES
        )

    def add(self, owner: NamedOwner) -> None:
        """Search for an owner that is not where its dependents say."""
        place = self._kinds.locate(owner.reference.api_version, owner.reference.kind)
        if place is None or not place.namespaced:
            return
        waiting = self._pending.setdefault(place.prefix, {})
        if len(waiting) < _MAX_PENDING:
            dependents = [_Dependent(node.key, node.uid, node.namespace) for node in islice(owner.dependents, _MAX_DEPENDENTS)]
            waiting.setdefault(owner.reference.name, []).append((owner.reference, dependents))
            self._queue.add_after(place.prefix, _PAUSE_SECONDS)

    async def run(self) -> None:
        """Search until cancelled."""
        await self._queue.run()

    async def _search(self, prefix: str) -> None:
        """Search all objects of a kind once for all owners that were named."""
        wanted = self._pending.pop(prefix, {})
        if not wanted or await self._backend.count(prefix) > _MAX_OBJECTS:
            return
        pace = Pace()
        async for page in latest_pages(self._backend, prefix):
            for pair in page:
                await pace.checkpoint()
                for reference, dependents in wanted.get(pair.key.rpartition("/")[2], ()):
                    await self._compare(pair.key, reference, dependents)

    async def _compare(self, key: str, reference: OwnerReference, dependents: list[_Dependent]) -> None:
        if await self._objects.read_known(key, reference.uid) is not None:
            for dependent in dependents:
                await self._record(reference, dependent)

    async def _record(self, reference: OwnerReference, dependent: _Dependent) -> None:
        """Create an event about a dependent; a refused one is only logged."""
        served = self._kinds.scope_of(dependent.key)
        if served is None:
            return
        scope, rest = served
        name, namespace = rest.rpartition("/")[2], dependent.namespace or _NAMESPACE
        event = _event(scope, name, reference, dependent)
        _LOG.info("owner reference names an object of another namespace", key=dependent.key, owner=reference.uid)
        call = WriteCall(USER, namespace, "", "", WriteQuery(), MANAGER, JSON, json_codec.dumps(event))
        try:
            await perform_own(self._workers, self._events, create_stored, call)
        except errors.StatusError as error:
            _LOG.info("event of the garbage collector refused", key=dependent.key, error=str(error))


def _event(scope: Scope, name: str, reference: OwnerReference, dependent: _Dependent) -> Object:
    """Return the event as client-go's recorder makes it."""
    moment = time.now()
    about = {"kind": scope.kind.kind, "apiVersion": scope.kind.api_version, "name": name, "uid": dependent.uid}
    if dependent.namespace:
        about["namespace"] = dependent.namespace
    named = f"namespace: {dependent.namespace}, name: {reference.name}, uid: {reference.uid}"
    invalid = f"[{reference.api_version}/{reference.kind}, {named}]"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name[:200]}.{dependent.uid[:8]}{reference.uid[:8]}", "namespace": dependent.namespace or _NAMESPACE},
        "involvedObject": about,
        "reason": _REASON,
        "message": f'ownerRef {invalid} does not exist in namespace "{dependent.namespace}"',
        "type": "Warning",
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
