"""The end of a definition: its instances are deleted, then it goes (apiextensions-apiserver pkg/controller/finalizer)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.meta.errors import StatusError
from apiext.meta.log import get_logger
from apiext.storage.backend import BackendError
from apiext.storage.interface import InvalidObjectError, KeyNotFoundError, Preconditions, StorageError

from . import conditions
from .conditions import CLEANUP_FINALIZER, TERMINATING, Condition

if TYPE_CHECKING:
    from apiext.meta.wire import Object
    from apiext.storage.interface import Codec, Item, Store

    from .definition import Definition

_LOG: Final = get_logger(__name__)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_PATIENCE: Final = 60.0
"""Seconds after which instances that do not go are reported in the condition."""

DeleteInstances = Callable[["Definition"], Awaitable[int]]
"""Deletes all instances of a definition; how many are still there."""

OVERLAPPING: Final = frozenset({("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")})
"""Groups and resources whose keys in the store are not the definition's to delete."""

_IN_PROGRESS: Final = Condition(TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = Condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
_NEVER_ESTABLISHED: Final = Condition(TERMINATING, "False", "NeverEstablished", "resource was never established")
_OVERLAPS: Final = Condition(TERMINATING, "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage")


class _HasOtherFinalizersError(Exception):
    """Somebody else keeps the definition."""


class Finalizer:
    """Takes the cleanup finalizer off definitions, one task for each that is being deleted."""

    __slots__ = ("_codec", "_delete_instances", "_gone", "_seen", "_store", "_tasks")

    def __init__(
        self,
        store: Store,
        codec: Codec,
        delete_instances: DeleteInstances,
        *,
        seen: Callable[[Item], None],
        gone: Callable[[str, int], None],
    ) -> None:
        self._store = store
        self._codec = codec
        self._delete_instances = delete_instances
        self._seen = seen
        self._gone = gone
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    def finalize(self, definition: Definition) -> None:
        """Begin, unless it has begun."""
        key = definition.name, definition.uid
        if key not in self._tasks:
            task = asyncio.create_task(self._run(definition), name=f"definitions-finalize-{definition.name}")
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def close(self) -> None:
        """Stop where it is."""
        for task in (tasks := list(self._tasks.values())):
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, definition: Definition) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._terminate(definition)
            except (KeyNotFoundError, InvalidObjectError):
                return
            except (StorageError, BackendError, StatusError) as error:
                _LOG.warning("a definition cannot be finalized", definition=definition.name, error=str(error), retry_after=pause)
            except Exception:  # noqa: BLE001 -- a definition must not stay half deleted for ever
                _LOG.exception("a definition cannot be finalized", definition=definition.name, retry_after=pause)
            else:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _terminate(self, definition: Definition) -> None:
        await self._report(definition, _IN_PROGRESS)
        if (definition.group, definition.names.plural) in OVERLAPPING:
            last = _OVERLAPS
        elif definition.is_established:
            await self._empty(definition)
            last = _COMPLETED
        else:
            last = _NEVER_ESTABLISHED
        await self._release(definition, last)

    async def _empty(self, definition: Definition) -> None:
        """Return when no instance is left, however long their finalizers keep them."""
        loop, pause = asyncio.get_running_loop(), _FIRST_PAUSE
        deadline = loop.time() + _PATIENCE
        while True:
            try:
                remaining = await self._delete_instances(definition)
            except (StorageError, BackendError, StatusError) as error:
                message = f"could not issue all deletes: {error}"
                await self._report(definition, Condition(TERMINATING, "True", "InstanceDeletionFailed", message))
                raise
            if not remaining:
                return
            if loop.time() >= deadline:
                message = "could not confirm zero CustomResources remaining: timed out waiting for the condition"
                await self._report(definition, Condition(TERMINATING, "True", "InstanceDeletionCheck", message))
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _report(self, definition: Definition, condition: Condition) -> None:
        async def update(existing: Object, _revision: int) -> Object:
            crd = dict(existing)
            if not condition.equals(conditions.find(existing, TERMINATING)):
                conditions.put(crd, condition)
            return crd

        self._seen(await self._write(definition, update))

    async def _release(self, definition: Definition, last: Condition) -> None:
        """Take the finalizer off, which removes a definition that has no other."""

        async def alone(existing: Object) -> None:
            if existing["metadata"].get("finalizers", []) not in ([], [CLEANUP_FINALIZER]):
                raise _HasOtherFinalizersError

        async def update(existing: Object, _revision: int) -> Object:
            finalizers = [name for name in existing["metadata"].get("finalizers", ()) if name != CLEANUP_FINALIZER]
            crd = existing | {"metadata": existing["metadata"] | {"finalizers": finalizers}}
            conditions.put(crd, last)
            return crd

        try:
            uid = Preconditions(uid=definition.uid)
            item = await self._store.delete(definition.name, self._codec, preconditions=uid, validate=alone)
        except _HasOtherFinalizersError:
            self._seen(await self._write(definition, update))
        else:
            self._gone(definition.name, item.revision)

    async def _write(self, definition: Definition, update: Callable[[Object, int], Awaitable[Object]]) -> Item:
        preconditions = Preconditions(uid=definition.uid)
        item, _ = await self._store.guaranteed_update(definition.name, self._codec, update, preconditions=preconditions)
        return item
