"""The end of a definition: its instances are deleted, then it goes (apiextensions-apiserver pkg/controller/finalizer)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from apiext.definitions import conditions
from apiext.definitions.conditions import CLEANUP_FINALIZER, TERMINATING, Condition
from apiext.meta.backoff import Backoff
from apiext.meta.errors import StatusError
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage.backend import BackendError
from apiext.storage.interface import InvalidObjectError, KeyNotFoundError, Preconditions, StorageError

if TYPE_CHECKING:
    from apiext.definitions.definition import Definition
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Codec, Item, Store

_LOG: Final = get_logger(__name__)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0
_PATIENCE: Final = 60.0
"""Seconds after which instances that do not go are reported in the condition."""

_FAILURES: Final = (StorageError, BackendError, StatusError)


class Instances(Protocol):
    """The instances of definitions. Every method raises StatusError, StorageError or BackendError."""

    async def places(self, definition: Definition) -> Collection[str]:
        """The namespaces that have instances, in order; "" for what lies outside of namespaces."""
        ...

    async def delete(self, definition: Definition, place: str) -> None:
        """Delete all instances in a namespace; their finalizers may keep them."""
        ...


OVERLAPPING: Final = frozenset({("apiregistration.k8s.io", "apiservices"), ("apiextensions.k8s.io", "customresourcedefinitions")})
"""Groups and resources whose keys in the store are not the definition's to delete."""

_IN_PROGRESS: Final = Condition(TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = Condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
_NEVER_ESTABLISHED: Final = Condition(TERMINATING, "False", "NeverEstablished", "resource was never established")
_OVERLAPS: Final = Condition(TERMINATING, "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage")


class _HasOtherFinalizersError(Exception):
    """Somebody else keeps the definition."""


class _StillThereError(Exception):
    """Instances do not go."""


class Finalizer:
    """Takes the cleanup finalizer off definitions, one task for each that is being deleted."""

    __slots__ = ("_codec", "_gone", "_instances", "_seen", "_store", "_tasks")

    def __init__(
        self,
        store: Store,
        codec: Codec,
        instances: Instances,
        *,
        seen: Callable[[Item], None],
        gone: Callable[[str, int], None],
    ) -> None:
        self._store = store
        self._codec = codec
        self._instances = instances
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
        await end_tasks(*self._tasks.values())

    async def _run(self, definition: Definition) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                await self._terminate(definition)
            except (KeyNotFoundError, InvalidObjectError):
                return
            except _StillThereError:
                # It says so in its condition. The reference tells that it begins anew, too.
                pass
            except _FAILURES as error:
                _LOG.warning("a definition cannot be finalized", definition=definition.name, error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- a definition must not stay half deleted for ever
                _LOG.exception("a definition cannot be finalized", definition=definition.name, retry_after=backoff.next)
            else:
                return
            await backoff.pause()

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
        """Return when no instance is left. Raises, with the reason in the condition, for the deletion to begin anew."""
        try:
            places = await self._instances.places(definition)
        except _FAILURES as error:
            await self._fail(definition, "InstanceDeletionFailed", f"could not list instances: {_text([error])}")
            raise
        failures: list[Exception] = []
        for place in places:
            try:
                await self._instances.delete(definition, place)
            except _FAILURES as error:
                failures.append(error)
        if failures:
            await self._fail(definition, "InstanceDeletionFailed", f"could not issue all deletes: {_text(failures)}")
            raise failures[0]
        try:
            await self._wait(definition)
        except (*_FAILURES, _StillThereError) as error:
            await self._fail(definition, "InstanceDeletionCheck", f"could not confirm zero CustomResources remaining: {_text([error])}")
            raise

    async def _wait(self, definition: Definition) -> None:
        """Return when no instance is left. Raises _StillThereError after a while: their finalizers keep them."""
        loop, backoff = asyncio.get_running_loop(), Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        deadline = loop.time() + _PATIENCE
        while await self._instances.places(definition):
            if loop.time() >= deadline:
                raise _StillThereError("context deadline exceeded")
            await backoff.pause()

    async def _fail(self, definition: Definition, reason: str, message: str) -> None:
        await self._report(definition, Condition(TERMINATING, "True", reason, message))

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


def _text(failures: Sequence[Exception]) -> str:
    """Failures as one text, each once."""
    texts = list(dict.fromkeys(map(str, failures)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
