"""Makes the objects that kube-apiserver makes for itself, and restores them when kube-apiserver does.

At the start: PriorityClasses and APIServices. Every 10 s: the Service `kubernetes`, its address and the default ServiceCIDR, if they are
missing, and the server's Lease. At once after a deletion, and every minute: the ConfigMap of aggregated servers. After each change: the
ConfigMap of tracked tokens.
"""

from __future__ import annotations

import asyncio
import datetime
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.api.serving.builtin.own_objects import create_object, ensure_object, find_object
from apiext.api.serving.generated import control_plane_objects as objects
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.request_context import RequestContext, UpdateOptions
from apiext.resources.registry.watch_loop import follow
from apiext.storage.backend import BackendError
from apiext.storage.interface import EventType, WatchOptions
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.generated.control_plane_objects import AuthenticationTrust
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.interface import Event, Item, Watch
    from apiext.storage.replicas.identity_lease import IdentityLease

_LOG: Final = get_logger(__name__)
_SYSTEM: Final = "kube-system"
_INTERVAL: Final = 10.0
"""Seconds between two looks for missing objects."""
_LOOKS_PER_MINUTE: Final = 6
_TRACKING_PAUSE: Final = 1800.0
"""Least seconds between two creations of the ConfigMap of tracked tokens."""
_LEASE: Final = "lease"
_CIDR_CONTROLLER: Final = "kubernetes-service-cidr-controller"


class ControlPlaneObjects:
    """Keeps the objects of one server. Several servers of a store may do the same."""

    def __init__(
        self,
        scopes: Mapping[str, Mapping[str, Scope]],
        service: Object,
        services: Sequence[Object],
        trust: Callable[[], AuthenticationTrust],
        lease: IdentityLease | None,
    ) -> None:
        """Create the controller.

        Args:
            scopes: those of each plural.
            service: the Service of the server.
            services: APIServices.
            trust: returns what the server trusts now.
            lease: the Lease of this server, None if another part keeps it.
        """
        self._lease = lease
        self._scopes = scopes
        self._trust = trust
        self._at_start = {"priorityclasses": objects.PRIORITY_CLASSES, "apiservices": services}
        self._kept = {"servicecidrs": objects.SERVICE_CIDR_OBJECT, "ipaddresses": objects.IP_ADDRESS, "services": service}
        self._work: dict[str, Callable[[], Awaitable[None]]] = {
            **{plural: self._restorer(plural) for plural in self._kept},
            objects.AUTHENTICATION: self._authentication,
            objects.TOKEN_TRACKING: self._token_tracking,
        }
        if lease is not None:
            self._work[_LEASE] = lease.renew
        self._queue = WorkQueue(
            self._sync, log=_LOG, event="control plane object not restored, retrying", key_field="object", retryable=(*FAILURES, ValueError)
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._tracked_at = -_TRACKING_PAUSE

    async def start(self) -> None:
        """Make what is missing, then follow changes.

        Raises:
            StatusError, BackendError: the store cannot be read or written.
        """
        if self._lease is not None:
            # deletes those of servers that are gone
            await self._lease.live()
        for plural, wanted in self._at_start.items():
            for obj in wanted:
                await ensure_object(self._scopes[plural][""], obj)
        for key in self._work:
            await self._sync(key)
        following = follow(self._watch_configs, self._on_event, log=_LOG, failed="ConfigMap watch failed, retrying")
        self._tasks = [asyncio.create_task(work, name="control-plane-objects") for work in (following, self._queue.run(), self._look())]

    async def close(self) -> None:
        """Stop, and delete the Lease. The other objects stay."""
        await end_tasks(*self._tasks)
        if self._lease is not None:
            with suppress(BackendError):
                await self._lease.release()

    async def _look(self) -> None:
        number = 0
        while True:
            await until_tick(_INTERVAL)
            number += 1
            for key in (*self._kept, *([_LEASE] if self._lease is not None else ())):
                self._queue.add(key)
            if not number % _LOOKS_PER_MINUTE:
                self._queue.add(objects.AUTHENTICATION)

    async def _watch_configs(self, _ctx: RequestContext, options: WatchOptions) -> Watch:
        return await self._scopes["configmaps"][""].rest.watch(RequestContext(namespace=_SYSTEM), options)

    def _on_event(self, event: Event) -> None:
        name = event.item.fields["metadata.name"] if event.item is not None else ""
        if name == objects.TOKEN_TRACKING or (name == objects.AUTHENTICATION and event.type is not EventType.MODIFIED):
            self._queue.add(name)

    async def _sync(self, key: str) -> None:
        await self._work[key]()

    def _restorer(self, plural: str) -> Callable[[], Awaitable[None]]:
        async def restore() -> None:
            if await ensure_object(self._scopes[plural][""], self._kept[plural]):
                _LOG.info("control plane object created", resource=plural)
            if plural == "servicecidrs":
                await self._report_ready()

        return restore

    async def _report_ready(self) -> None:
        """Give the default ServiceCIDR its condition, as the reference's controller applies it."""
        name = objects.SERVICE_CIDR_OBJECT["metadata"]["name"]
        found = await find_object(self._scopes["servicecidrs"][""], "", name)
        if found is None or objects.is_ready(found.object()):
            return
        status = self._scopes["servicecidrs"]["status"]

        async def apply(existing: Object) -> Object:
            return await status.fields.apply(existing, objects.ready_status(), _CIDR_CONTROLLER, force=True)

        await status.rest.update(RequestContext(), name, apply, UpdateOptions(keep_managers=True))

    async def _authentication(self) -> None:
        found = await self._config(objects.AUTHENTICATION)
        data = found.object().get("data") or {} if found is not None else {}
        wanted = self._trust().joined(data, datetime.datetime.now(datetime.UTC))
        if found is None or wanted != data:
            await self._write(objects.AUTHENTICATION, wanted, found)

    async def _token_tracking(self) -> None:
        found = await self._config(objects.TOKEN_TRACKING)
        now = asyncio.get_running_loop().time()
        if found is None:
            if (pause := self._tracked_at + _TRACKING_PAUSE - now) > 0:
                self._queue.add_after(objects.TOKEN_TRACKING, pause)
                return
            self._tracked_at = now
        today = datetime.datetime.now(datetime.UTC).date()
        wanted = objects.token_tracking(today, found.object().get("data") if found is not None else None)
        if wanted is not None:
            await self._write(objects.TOKEN_TRACKING, wanted, found)

    async def _config(self, name: str) -> Item | None:
        return await find_object(self._scopes["configmaps"][""], _SYSTEM, name)

    async def _write(self, name: str, data: dict[str, str], found: Item | None) -> None:
        scope = self._scopes["configmaps"][""]
        if found is None:
            await create_object(scope, {"metadata": {"name": name, "namespace": _SYSTEM}, "data": data})
            return

        async def replace(existing: Object) -> Object:
            obj = existing | {"data": data}
            await scope.fields.update(existing, obj, SERVER)
            return obj

        await scope.rest.update(RequestContext(namespace=_SYSTEM), name, replace, UpdateOptions())
