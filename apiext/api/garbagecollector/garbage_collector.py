"""Deletes objects whose owners are gone, ends deletions in foreground, and orphans dependents.

Mirrors kubernetes pkg/controller/garbagecollector/garbagecollector.go. The graph only says which object to look at; what is done depends
on the latest state of the object and of its owners in the store.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from apiext.api.garbagecollector.graph import Graph, GraphBuilder, OwnerState, owner_id
from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.meta.objectmeta.validation import FINALIZER_FOREGROUND, FINALIZER_ORPHAN
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import paced
from apiext.base.scheduling.workqueue import RequeueError, WorkQueue
from apiext.resources.registry.deletion import BACKGROUND, FOREGROUND, ORPHAN
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.api.garbagecollector.graph import GraphNode, NamedOwner
    from apiext.api.garbagecollector.invalid_owners import InvalidOwners
    from apiext.api.garbagecollector.served_objects import Kinds, LatestObject, ServedObjects
    from apiext.storage.backend import Backend
    from apiext.storage.stored_bytes.object_links import OwnerReference

_LOG: Final = get_logger(__name__)
_WORKERS: Final = 20
"""Objects processed at the same time, as in the reference."""
PAUSES: Final = (0.05, 60.0)
"""Seconds before the first retry of an object, and the longest before later ones."""
_MANY: Final = 50
"""Owners of an object from which on they are not read for each attempt at it, and attempts are at most one a second."""
MANY_SECONDS: Final = 1.0
"""Pause before the next attempt at an object with many owners."""
_TOGETHER: Final = 8
"""Dependents orphaned at the same time."""
_CONFLICTS: Final = 5
"""Attempts to remove a finalizer while others change the object."""


@dataclass(slots=True)
class _Verdicts:
    """The owner references of an object by what became of the owners."""

    solid: int = 0
    dangling: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)


class GarbageCollector:
    """Collects the garbage of one store, from a start until changes are lost or it is cancelled."""

    def __init__(
        self,
        kinds: Kinds,
        objects: ServedObjects,
        invalid: InvalidOwners,
        backend: Backend,
        root: str,
        *,
        reach: Callable[[int], Awaitable[None]],
        is_ignored: Callable[[str], bool],
    ) -> None:
        """Create a collector for all keys below `root`. `reach` and `is_ignored` are those of the GraphBuilder."""
        self._kinds = kinds
        self._objects = objects
        self._invalid = invalid
        self._attempts = WorkQueue(
            self._attempt,
            log=_LOG,
            event="garbage collection of an object failed, retrying",
            key_field="key",
            retryable=FAILURES,
            workers=_WORKERS,
            pauses=PAUSES,
        )
        self._checks = WorkQueue(
            self._check,
            log=_LOG,
            event="lookup of an owner failed, retrying",
            key_field="owner",
            retryable=FAILURES,
            workers=_WORKERS,
            pauses=PAUSES,
        )
        self.graph = Graph(kinds.locate, self._attempts.add, self._checks.add)
        self.builder = GraphBuilder(backend, root, self.graph, reach=reach, is_ignored=is_ignored)

    async def run(self) -> None:
        """Collect garbage until changes are lost: then a new collector is needed. Raises what makes the graph incomplete."""
        work = {"graph": self.builder.run(), "work": self._work(), "lost-changes": self.builder.is_outdated.wait()}
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(one, name=f"garbage-collector-{name}") for name, one in work.items()]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await end_tasks(*tasks)

    async def _work(self) -> None:
        """Process objects once the graph has all of them."""
        await self.builder.is_built.wait()
        queues = [asyncio.create_task(queue.run()) for queue in (self._attempts, self._checks)]
        try:
            await asyncio.gather(*queues)
        finally:
            await end_tasks(*queues)

    # --- owners -------------------------------------------------------------------------------------------------------

    async def _check(self, name: str) -> None:
        """Look up an owner that is not known yet. Process the dependents of one that is gone or waits for them."""
        owner = self.graph.owners.get(name)
        if owner is None:
            return
        if owner.state is OwnerState.UNKNOWN and owner.key:
            await self._look_up(owner)
        if owner.state is OwnerState.INVALID:
            self._invalid.add(owner)
        if owner.concerns_dependents:
            async for node in paced(list(owner.dependents)):
                if len(node.owners) > _MANY:
                    self._attempts.add_after(node.key, MANY_SECONDS)
                else:
                    self._attempts.add(node.key)

    async def _look_up(self, owner: NamedOwner) -> None:
        found = await self._objects.read(owner.key)
        if found is None:
            self.graph.set_absent(owner)
        elif found.links is not None:
            self.graph.set_found(owner, found.links)
        if owner.state is OwnerState.ABSENT:
            self._invalid.add(owner)

    # --- dependents and owners under deletion ---------------------------------------------------------------------------

    async def _attempt(self, key: str) -> None:
        """Do what the graph says about an object."""
        node = self.graph.nodes.get(key)
        if node is None:
            return
        if node.orphans:
            await self._orphan_dependents(node)
        elif node.waits_for_dependents:
            if not self.graph.is_blocked(node.uid):
                await self._remove_finalizer(node, FINALIZER_FOREGROUND)
        elif not node.is_terminating:
            await self._collect(node)

    async def _collect(self, node: GraphNode) -> None:
        """Delete an object without owners, or remove the references to owners that are gone."""
        found = await self._objects.read_known(node.key, node.uid)
        if found is None or not found.references:
            # the graph will know soon
            return
        verdicts = await self._verdicts(node, found)
        if verdicts is None:
            return
        try:
            await self._act(node, found, verdicts)
        except errors.StatusError as error:
            if error.code != 404:
                raise

    async def _act(self, node: GraphNode, found: LatestObject, verdicts: _Verdicts) -> None:
        if verdicts.solid:
            unwanted = verdicts.dangling | verdicts.waiting
            if unwanted:
                await self._remove_owners(found, unwanted)
        elif verdicts.waiting and self.graph.has_dependents(node.uid):
            if any(dependent.waits_for_dependents for dependent in self.graph.dependents(node.uid)):
                # there may be a circle, in which all would wait for each other
                await self._unblock(found)
            await self._delete(found, FOREGROUND)
        else:
            await self._delete(found, _policy(found.finalizers))

    async def _delete(self, found: LatestObject, policy: str) -> None:
        _LOG.debug("garbage deleted", key=found.key, propagation_policy=policy)
        await self._objects.delete(found, policy)

    async def _verdicts(self, node: GraphNode, found: LatestObject) -> _Verdicts | None:
        """Classify the owner references. Return None if a kind is not served: the object is processed again when it is."""
        verdicts = _Verdicts(solid=int(found.links is not None and found.links.is_cut))
        for reference in found.references:
            state = await self._state_of(reference, node.namespace, many=len(found.references) > _MANY)
            if state is None:
                return None
            if state is OwnerState.ABSENT:
                verdicts.dangling.add(reference.uid)
            elif state is OwnerState.WAITING:
                verdicts.waiting.add(reference.uid)
            else:
                verdicts.solid += 1
        return verdicts

    async def _state_of(self, reference: OwnerReference, namespace: str, *, many: bool) -> OwnerState | None:
        """Return the state of an owner in the store; None if its kind is not served, or an object may not have it as owner.

        Of an object with `many` owners, their states in the graph count.
        """
        place = self._kinds.locate(reference.api_version, reference.kind)
        within = namespace if place is None or place.namespaced else ""
        owner = self.graph.owners.get(owner_id(reference, within))
        if owner is not None and owner.state is OwnerState.ABSENT:
            return OwnerState.ABSENT
        if many and owner is not None and place is not None:
            if owner.state is OwnerState.UNKNOWN:
                # it is looked up once for all dependents
                raise RequeueError
            return None if owner.state is OwnerState.INVALID else owner.state
        if place is None or (place.namespaced and not namespace):
            return None
        key = f"{place.prefix}{within}/{reference.name}" if place.namespaced else f"{place.prefix}{reference.name}"
        found = await self._objects.read(key)
        if found is None:
            return OwnerState.ABSENT
        if found.links is None:
            # it cannot be read, and may be the owner
            return OwnerState.PRESENT
        if found.links.uid != reference.uid:
            return OwnerState.ABSENT
        return OwnerState.WAITING if found.links.waits_for_dependents else OwnerState.PRESENT

    async def _remove_owners(self, found: LatestObject, uids: set[str]) -> None:
        kept = [one for one in found.owner_references if one.get("uid") not in uids]
        await self._objects.patch(found, {"ownerReferences": kept or None})

    async def _unblock(self, found: LatestObject) -> None:
        """Let no owner wait for an object."""
        references: list[Any] = [{**one, "blockOwnerDeletion": False} for one in found.owner_references]
        await self._objects.patch(found, {"ownerReferences": references})

    async def _orphan_dependents(self, node: GraphNode) -> None:
        """Remove the owner from all its dependents, then let it go."""
        dependents = self.graph.dependents(node.uid)
        for first in range(0, len(dependents), _TOGETHER):
            await asyncio.gather(*(self._orphan(dependent, node.uid) for dependent in dependents[first : first + _TOGETHER]))
        await self._remove_finalizer(node, FINALIZER_ORPHAN)

    async def _orphan(self, dependent: GraphNode, uid: str) -> None:
        found = await self._objects.read_known(dependent.key, dependent.uid)
        if found is None or all(one.uid != uid for one in found.references):
            return
        try:
            await self._remove_owners(found, {uid})
        except errors.StatusError as error:
            if error.code != 404:
                raise

    async def _remove_finalizer(self, node: GraphNode, name: str) -> None:
        for attempt in range(1, _CONFLICTS + 1):
            found = await self._objects.read_known(node.key, node.uid)
            if found is None or name not in found.finalizers:
                return
            kept = [one for one in found.finalizers if one != name]
            try:
                await self._objects.patch(found, {"finalizers": kept or None})
            except errors.StatusError as error:
                if error.code == 404:
                    return
                if error.code != 409 or attempt == _CONFLICTS:
                    raise
            else:
                return


def _policy(finalizers: tuple[str, ...]) -> str:
    """Return the propagation policy that the finalizers of an object ask for."""
    if FINALIZER_ORPHAN in finalizers:
        return ORPHAN
    return FOREGROUND if FINALIZER_FOREGROUND in finalizers else BACKGROUND
