"""The life of namespaces where no other controller looks after them: the first ones are made, and those on their way out emptied.

Mirrors pkg/controlplane/controller/systemnamespaces and pkg/controller/namespace of kubernetes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.meta import errors
from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.registry.namespace import FINALIZER, TERMINATING
from apiext.registry.request_context import CreateOptions, RequestContext, UpdateOptions
from apiext.serving.definition_instances import SYSTEM
from apiext.serving.namespace_content import FAILURES, Content
from apiext.storage.interface import EventType, WatchOptions

if TYPE_CHECKING:
    from apiext.definitions.catalog import Catalog
    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.serving.builtin import BuiltinEndpoint
    from apiext.serving.cache import ServingCache
    from apiext.storage.interface import Event

_LOG: Final = get_logger(__name__)
SYSTEM_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_PAUSE: Final = 0.1
_MAX_PAUSE: Final = 5.0


async def phase_of(endpoint: BuiltinEndpoint, name: str, *, live: bool) -> str | None:
    """A namespace's phase, None when there is none: from the cache, or (live) its most recent one."""
    context = RequestContext(user=SYSTEM, namespace=name)
    try:
        item = await endpoint.scopes[""].rest.get(context, name, resource_version="" if live else "0")
    except errors.StatusError as error:
        if error.code == 404:
            return None
        raise
    return item.fields.get("status.phase", "")


class NamespaceController:
    """Empties namespaces that are being deleted, and lets them go."""

    def __init__(self, endpoint: BuiltinEndpoint, others: Iterable[BuiltinEndpoint], catalog: Catalog, cache: ServingCache) -> None:
        self._namespaces = endpoint.scopes[""].rest
        self._status = endpoint.scopes["status"].rest
        self._finalize = endpoint.scopes["finalize"].rest
        self._builtins = tuple(other.scopes[""] for other in others if other.scopes[""].namespaced)
        self._catalog = catalog
        self._cache = cache
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._follower: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Make the first namespaces where they are missing, then look after all. Raises StatusError."""
        for name in SYSTEM_NAMESPACES:
            await self._ensure(name)
        self._follower = asyncio.get_running_loop().create_task(self._follow(), name="namespaces")

    async def close(self) -> None:
        """Stop."""
        await end_tasks(*self._ending.values(), *([self._follower] if self._follower else []))
        self._ending.clear()

    async def _ensure(self, name: str) -> None:
        context = RequestContext(user=SYSTEM, namespace="")
        with suppress(errors.StatusError):
            await self._namespaces.get(context, name)
            return
        namespace: Object = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
        namespace |= {"spec": {}, "status": {}}
        try:
            await self._namespaces.create(context, namespace, CreateOptions())
        except errors.StatusError as error:
            if error.reason != "AlreadyExists":
                raise

    async def _follow(self) -> None:
        backoff = Backoff(_PAUSE, _MAX_PAUSE)
        while True:
            try:
                await self._watch()
                backoff.reset()
            except FAILURES as error:
                _LOG.warning("namespaces cannot be watched", error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- whatever went wrong, namespaces must go on being watched
                _LOG.exception("namespaces cannot be watched", retry_after=backoff.next)
            await backoff.pause()

    async def _watch(self) -> None:
        watch = await self._namespaces.watch(RequestContext(user=SYSTEM, namespace=""), WatchOptions())
        try:
            async for events in watch:
                for event in events:
                    self._see(event)
        finally:
            watch.close()

    def _see(self, event: Event) -> None:
        item = event.item
        if item is None or event.type is EventType.DELETED or item.fields.get("status.phase") != TERMINATING:
            return
        name = item.fields["metadata.name"]
        if name not in self._ending:
            task = asyncio.get_running_loop().create_task(self._end(name), name=f"namespace-{name}")
            self._ending[name] = task
            task.add_done_callback(lambda _: self._ending.pop(name, None))

    async def _end(self, name: str) -> None:
        backoff = Backoff(_PAUSE, _MAX_PAUSE)
        while True:
            try:
                if not await self._is_terminating(name):
                    return
                if await self._empty(name):
                    await self._release(name)
                    return
            except FAILURES as error:
                if isinstance(error, errors.StatusError) and error.code == 404:
                    return
                _LOG.warning("a namespace cannot be emptied", namespace=name, error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- one namespace must not stop the work on others
                _LOG.exception("a namespace cannot be emptied", namespace=name, retry_after=backoff.next)
            await backoff.pause()

    async def _is_terminating(self, name: str) -> bool:
        """Whether it is still to be emptied: somebody may have forced it away, and another of its name may be in use."""
        item = await self._namespaces.get(RequestContext(user=SYSTEM, namespace=""), name)
        return item.fields.get("status.phase") == TERMINATING

    async def _empty(self, name: str) -> bool:
        """Delete everything in a namespace and tell what is left; whether nothing is."""
        content = Content()
        for scope in self._contents():
            await content.delete(scope, name)
        await self._tell(name, content)
        return content.is_gone

    async def _tell(self, name: str, content: Content) -> None:
        """Bring the conditions of a namespace up to date."""

        async def with_conditions(existing: Object) -> Object:
            status = existing["status"]
            if status.get("phase") != TERMINATING:
                return existing
            return {**existing, "status": {**status, "conditions": content.conditions(status.get("conditions") or ())}}

        await self._status.update(RequestContext(user=SYSTEM, namespace=name), name, with_conditions, UpdateOptions())

    def _contents(self) -> list[Scope]:
        scopes = list(self._builtins)
        for definition in self._catalog.all():
            if not definition.namespaced or not (definition.names_accepted or definition.is_established):
                continue
            served = self._cache.version(self._cache.info(definition), definition.storage_version.name)
            if served is not None:
                scopes.append(served.scopes[""])
        return scopes

    async def _release(self, name: str) -> None:
        """Take the server's finalizer off a namespace, which removes it when it was the last."""
        context = RequestContext(user=SYSTEM, namespace=name)

        async def without_finalizer(existing: Object) -> Object:
            if existing["status"].get("phase") != TERMINATING:
                return existing
            spec = existing.get("spec") or {}
            kept = [item for item in spec.get("finalizers") or () if item != FINALIZER]
            return {**existing, "spec": {**spec, "finalizers": kept} if kept else {}}

        await self._finalize.update(context, name, without_finalizer, UpdateOptions())
