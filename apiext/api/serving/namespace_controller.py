"""Namespace controllers of a standalone server: create the system namespaces, and empty terminating namespaces.

Mirrors pkg/controlplane/controller/systemnamespaces and pkg/controller/namespace of kubernetes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from apiext.api.endpoints.handlers.write import WriteSteps
from apiext.api.endpoints.parameters.options import DeleteQuery
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.base.meta import errors, time
from apiext.base.meta.log import get_logger
from apiext.base.meta.request import controller_user
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.base.scheduling.workqueue import RequeueError, WorkQueue
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.builtin.namespace import NAME_LABEL, TERMINATING
from apiext.resources.registry.builtin.shared_rules import NAMESPACE_FINALIZER
from apiext.resources.registry.request_context import CreateOptions, RequestContext, UpdateOptions, Updater
from apiext.resources.registry.watch_loop import follow
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError
from apiext.storage.interface import EventType, ListOptions
from apiext.storage.store_times import untimed

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Event, Item

_LOG: Final = get_logger(__name__)
SYSTEM_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_CONTROLLER: Final = "kube-controller-manager"
"""The manager of the controller's fields."""
MIN_PAUSE_SECONDS: Final = 0.1
MAX_PAUSE_SECONDS: Final = 5.0
"""Seconds before the first retry and before later ones."""
ENSURE_SECONDS: Final = 60.0
"""Seconds between two looks for missing system namespaces: `kube-node-lease` can be deleted."""
_WORKERS: Final = 20
"""Namespaces to empty at the same time."""


FAILURES: Final = (errors.StatusError, StorageError, BackendError)
"""Expected exceptions of deleting a resource."""
_USER: Final = controller_user("namespace-controller")
"""Who deletes, as admission sees it."""

_GOOD: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Condition types in their order, with reason and message of status False."""


@dataclass(slots=True)
class NamespaceContent:
    """Result of deleting the objects of a namespace."""

    remaining: Counter[str] = field(default_factory=Counter)
    """Number of remaining objects by resource."""
    finalizers: Counter[str] = field(default_factory=Counter)
    """Number of remaining objects by finalizer."""
    failures: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Report whether no object is left."""
        return not self.remaining and not self.failures

    async def delete(self, scope: Scope, namespace: str) -> None:
        """Delete all objects of a resource, and record failures and remaining objects."""
        context = RequestContext(namespace=namespace)
        deletion = DeleteQuery(propagation_policy="Background")
        options = WriteSteps(scope, WriteCall(_USER, namespace, "", "", deletion)).deletion()
        try:
            await scope.rest.delete_collection(context, options, ListOptions())
            remaining = (await scope.rest.list(context, ListOptions())).items
        except FAILURES as error:
            self.failures.append(str(error))
            return
        if remaining:
            self._count(scope, namespace, remaining)

    def _count(self, scope: Scope, namespace: str, remaining: Iterable[Item]) -> None:
        finalizers: Counter[str] = Counter()
        resource = scope.resource
        for item in remaining:
            self.remaining[f"{resource.resource}.{resource.group}"] += 1
            finalizers.update((item.object().get("metadata") or {}).get("finalizers") or ())
        if not finalizers:
            gvr = f"{resource.group}/{resource.version}, Resource={resource.resource}"
            self.failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {gvr}")
        self.finalizers += finalizers

    def conditions(self, existing: Iterable[Object]) -> list[Object]:
        """Return the namespace's new conditions. Unchanged conditions are the same objects as the existing ones."""
        conditions = list(existing)
        positions: dict[str, int] = {}
        for position, condition in enumerate(conditions):
            # If two conditions have one type, the first counts.
            positions.setdefault(condition["type"], position)
        bad = self._bad()
        for name, good in _GOOD.items():
            reason, message = bad.get(name, good)
            new = {"status": "True" if name in bad else "False", "reason": reason, "message": message}
            position = positions.get(name, len(conditions))
            old = conditions[position] if name in positions else {}
            if any(old.get(key) != text for key, text in new.items()):
                since = old["lastTransitionTime"] if old.get("status") == new["status"] else time.now()
                conditions[position : position + 1] = [{"type": name, **new, "lastTransitionTime": since}]
        return conditions

    def _bad(self) -> dict[str, tuple[str, str]]:
        """Return reason and message of each condition with status True."""
        bad: dict[str, tuple[str, str]] = {}
        if self.failures:
            texts = ", ".join(sorted(self.failures))
            message = f"Failed to delete all resource types, {len(self.failures)} remaining: {texts}"
            bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
        if self.remaining:
            texts = _sorted(f"{name} has {count} resource instances" for name, count in self.remaining.items())
            bad["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {texts}")
        if self.finalizers:
            texts = _sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {texts}"
            bad["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return bad


def _sorted(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))


async def namespace_phase(rest: ResourceRest, name: str, *, live: bool) -> str | None:
    """Return the phase of a namespace from the cache or, with `live`, from the store. Return None if it does not exist.

    Raises:
        StatusError: the namespace cannot be read.
    """
    item = None if live else rest.store.cached_item(name, rest.codec)
    try:
        if item is None:
            # in the reference an informer's work, or a request of its own
            with untimed():
                item = await rest.get(RequestContext(namespace=name), name, resource_version="" if live else "0")
    except errors.StatusError as error:
        if error.code == 404:
            return None
        raise
    return item.fields.get("status.phase", "")


class NamespaceController:
    """Creates the system namespaces. Empties and finalizes terminating namespaces."""

    def __init__(self, endpoint: BuiltinEndpoint, others: Iterable[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        self._endpoint = endpoint
        self._namespaces = cast("ResourceRest", endpoint.scopes[""].rest)
        self._builtins = tuple(other for other in others if other.resource.namespaced)
        self._catalog = catalog
        self._cache = cache
        self._terminating: dict[str, str] = {}
        """Uids, by name, of namespaces that are enqueued and not finalized yet."""
        self._queue = WorkQueue(
            self._sync,
            log=_LOG,
            event="namespace deletion failed, retrying",
            key_field="namespace",
            retryable=FAILURES,
            workers=_WORKERS,
            pauses=(MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS),
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Create missing system namespaces, then watch all namespaces.

        Raises:
            StatusError: a system namespace cannot be created.
        """
        for name in SYSTEM_NAMESPACES:
            await self._ensure(name)
        pauses = (MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        watching = follow(self._namespaces.watch, self._on_event, log=_LOG, failed="namespace watch failed, retrying", pauses=pauses)
        self._tasks = [
            asyncio.create_task(watching, name="namespace-informer"),
            asyncio.create_task(self._queue.run(), name="namespace-controller"),
            asyncio.create_task(self._keep_system_namespaces(), name="system-namespaces"),
        ]

    async def close(self) -> None:
        """Stop. The next start continues unfinished deletions."""
        await end_tasks(*self._tasks)

    async def _keep_system_namespaces(self) -> None:
        while True:
            await until_tick(ENSURE_SECONDS)
            try:
                for name in SYSTEM_NAMESPACES:
                    await self._ensure(name)
            except FAILURES as error:
                _LOG.warning("system namespaces not checked, retrying", error=str(error))

    async def _ensure(self, name: str) -> None:
        with suppress(errors.StatusError):
            await self._namespaces.get(RequestContext(), name)
            return
        namespace: Object = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "labels": {NAME_LABEL: name}}}
        namespace |= {"spec": {}, "status": {}}
        try:
            await self._endpoint.scopes[""].fields.update({}, namespace, SERVER)
            await self._namespaces.create(RequestContext(), namespace, CreateOptions())
        except errors.StatusError as error:
            if error.reason != "AlreadyExists":
                raise

    def _on_event(self, event: Event) -> None:
        """Enqueue a terminating namespace once: events of its own condition updates must not cancel the backoff."""
        item = event.item
        if item is None or event.type is EventType.DELETED or item.fields.get("status.phase") != TERMINATING:
            return
        name, uid = item.fields["metadata.name"], item.object()["metadata"]["uid"]
        if self._terminating.get(name) != uid:
            self._terminating[name] = uid
            self._queue.add(name)

    async def _sync(self, name: str) -> None:
        """Delete the objects of a terminating namespace, and finalize it once it is empty. Raises RequeueError before that."""
        uid = self._terminating.get(name)
        try:
            if await self._is_terminating(name):
                if not await self._delete_content(name, uid):
                    raise RequeueError
                await self._remove_finalizer(name)
        except errors.StatusError as error:
            if error.code != 404:
                raise
        if self._terminating.get(name) == uid:
            self._terminating.pop(name, None)

    async def _is_terminating(self, name: str) -> bool:
        """Report whether the stored namespace is terminating. A client may have finalized and recreated it."""
        item = await self._namespaces.get(RequestContext(), name)
        return item.fields.get("status.phase") == TERMINATING

    async def _delete_content(self, name: str, uid: str | None) -> bool:
        """Delete all objects in a namespace and update its conditions. Report whether none is left."""
        content = NamespaceContent()
        for scope in self._scopes():
            if self._is_another(name, uid):
                return False
            await content.delete(scope, name)
        await self._update_conditions(name, content)
        return content.is_empty

    def _is_another(self, name: str, uid: str | None) -> bool:
        """Report whether a client has recreated the namespace, as far as the cache knows."""
        item = self._namespaces.store.cached_item(name, self._namespaces.codec)
        return item is not None and item.object()["metadata"]["uid"] != uid

    async def _update_conditions(self, name: str, content: NamespaceContent) -> None:
        async def with_conditions(existing: Object) -> Object:
            status = existing["status"]
            if status.get("phase") != TERMINATING:
                return existing
            return {**existing, "status": {**status, "conditions": content.conditions(status.get("conditions") or ())}}

        await self._update("status", name, with_conditions)

    def _scopes(self) -> list[Scope]:
        """Return the scopes of all namespaced resources, custom resources in their storage version."""
        custom = (one for one in self._catalog.all() if one.namespaced and (one.names_accepted or one.is_established))
        builtins = (other.scopes[""] for other in self._builtins)
        return [*builtins, *(self._cache.storage_version(self._cache.info(definition)).scopes[""] for definition in custom)]

    async def _remove_finalizer(self, name: str) -> None:
        """Remove the finalizer `kubernetes`. Without another one, this deletes the namespace."""

        async def without_finalizer(existing: Object) -> Object:
            if existing["status"].get("phase") != TERMINATING:
                return existing
            spec = existing.get("spec") or {}
            kept = [item for item in spec.get("finalizers") or () if item != NAMESPACE_FINALIZER]
            return {**existing, "spec": {**spec, "finalizers": kept} if kept else {}}

        await self._update("finalize", name, without_finalizer)

    async def _update(self, subresource: str, name: str, change: Updater) -> None:
        scope = self._endpoint.scopes[subresource]

        async def recorded(existing: Object) -> Object:
            changed = await change(existing)
            if changed is not existing:
                await scope.fields.update(existing, changed, _CONTROLLER)
            return changed

        await scope.rest.update(RequestContext(namespace=name), name, recorded, UpdateOptions())
