"""Makes the objects that kube-apiserver makes for itself, and restores them when kube-apiserver does.

At the start: PriorityClasses and APIServices. Every 10 s: the Service `kubernetes`, its address and the default ServiceCIDR, if they are
missing, and the server's Lease. At once after a deletion, and every minute: the ConfigMap of aggregated servers. After each change: the
ConfigMap of tracked tokens.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.serving.builtin.kubernetes_service import SERVICE_ADDRESS, SERVICE_CIDR
from apiext.api.serving.builtin.own_objects import create_object, ensure_object, find_object
from apiext.base.cert.renewal import still_valid
from apiext.base.meta import time
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.ticks import until_tick
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.managedfields.field_manager import SERVER
from apiext.resources.registry.generated.verbs import CLUSTER_CRITICAL, NODE_CRITICAL
from apiext.resources.registry.request_context import RequestContext, UpdateOptions
from apiext.resources.registry.watch_loop import follow
from apiext.storage.backend import BackendError
from apiext.storage.interface import EventType, WatchOptions
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from apiext.api.authentication.request_header import RequestHeaders
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.builtin_resources import BuiltinGroupVersion
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


AUTHENTICATION: Final = "extension-apiserver-authentication"
TOKEN_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"  # noqa: S105 -- the name of a ConfigMap
_SINCE: Final = "since"
_CLIENT_CA: Final = "client-ca-file"
_PROXY_CA: Final = "requestheader-client-ca-file"
_EXPIRY_SLACK: Final = datetime.timedelta(minutes=5)
_CRITICAL: Final = 2_000_000_000
_NODE_CRITICAL: Final = "Used for system critical pods that must not be moved from their current node."
_CLUSTER_CRITICAL: Final = "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."

PRIORITY_CLASSES: Final[tuple[Object, ...]] = (
    {"metadata": {"name": NODE_CRITICAL}, "value": _CRITICAL + 1000, "description": _NODE_CRITICAL},
    {"metadata": {"name": CLUSTER_CRITICAL}, "value": _CRITICAL, "description": _CLUSTER_CRITICAL},
)
SERVICE_CIDR_OBJECT: Final[Object] = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [SERVICE_CIDR]}}
IP_ADDRESS: Final[Object] = {
    "metadata": {
        "name": SERVICE_ADDRESS,
        "labels": {"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"},
    },
    "spec": {"parentRef": {"name": "kubernetes", "namespace": "default", "resource": "services"}},
}


def api_services(groups: Iterable[BuiltinGroupVersion]) -> list[Object]:
    """Return the APIServices of built-in group versions, but for that of APIServices themselves."""
    found: list[Object] = []
    for one in groups:
        group, version = one.group_version
        if group != "apiregistration.k8s.io":
            name = {"name": f"{version}.{group}", "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"}}
            spec: Object = {"groupPriorityMinimum": one.group_priority, "version": version, "versionPriority": one.version_priority}
            found.append({"metadata": name, "spec": ({"group": group} if group else {}) | spec})
    return found


def is_ready(cidr: Object) -> bool:
    """Return whether the default ServiceCIDR needs no condition: it has one, or is another's."""
    metadata, spec, status = cidr["metadata"], cidr["spec"], cidr.get("status") or {}
    known = any(one["type"] == "Ready" and one["status"] != "Unknown" for one in status.get("conditions") or ())
    return known or "deletionTimestamp" in metadata or spec["cidrs"] != [SERVICE_CIDR]


def ready_status() -> Object:
    """Return the applied status of the default ServiceCIDR."""
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": time.now(),
        "message": "Kubernetes default Service CIDR is ready",
    }
    name = SERVICE_CIDR_OBJECT["metadata"]["name"]
    return {
        "kind": "ServiceCIDR",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": name},
        "status": {"conditions": [condition]},
    }


def token_tracking(today: datetime.date, data: dict[str, str] | None) -> dict[str, str] | None:
    """Return the data of the ConfigMap that says since when tokens in Secrets are tracked; None if it need not change."""
    try:
        datetime.datetime.strptime((data or {})[_SINCE], "%Y-%m-%d").replace(tzinfo=datetime.UTC)
    except (KeyError, ValueError):
        return (data or {}) | {_SINCE: today.isoformat()}
    return None


@dataclass(frozen=True, slots=True)
class AuthenticationTrust:
    """What the server trusts: the data of the ConfigMap that aggregated servers read."""

    client_ca: str
    """PEM, "" for none."""
    proxy_ca: str
    proxy_names: tuple[str, ...]
    headers: RequestHeaders

    def joined(self, data: dict[str, str], moment: datetime.datetime) -> dict[str, str]:
        """Return the data with that of other servers, without expired certificates.

        Raises:
            ValueError: the data has a list that is no JSON.
        """
        result: dict[str, str] = {}
        if client_ca := _joined_pem(data.get(_CLIENT_CA, ""), self.client_ca, moment):
            result[_CLIENT_CA] = client_ca
        proxy_ca = _joined_pem(data.get(_PROXY_CA, ""), self.proxy_ca, moment)
        if not proxy_ca:
            return result
        lists: dict[str, Sequence[str]] = {
            "username-headers": self.headers.username,
            "group-headers": self.headers.group,
            "extra-headers-prefix": self.headers.extra_prefixes,
            "allowed-names": self.proxy_names,
            "uid-headers": self.headers.uid,
        }
        for suffix, own in lists.items():
            key = f"requestheader-{suffix}"
            if (names := list(dict.fromkeys((*_names(data.get(key, "")), *own)))) or suffix != "uid-headers":
                result[key] = json.dumps(names, separators=(",", ":"), ensure_ascii=False)
        return result | {_PROXY_CA: proxy_ca}


def _names(text: str) -> list[str]:
    found: Any = json.loads(text) if text else []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("not a list of texts")
    return found


def _joined_pem(one: str, other: str, moment: datetime.datetime) -> str:
    found = still_valid(f"{one}\n{other}", moment - _EXPIRY_SLACK)
    return "".join(f"{pem}\n" for pem in dict.fromkeys(pem.strip() for pem in found))


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
        self._at_start = {"priorityclasses": PRIORITY_CLASSES, "apiservices": services}
        self._kept = {"servicecidrs": SERVICE_CIDR_OBJECT, "ipaddresses": IP_ADDRESS, "services": service}
        self._work: dict[str, Callable[[], Awaitable[None]]] = {
            **{plural: self._restorer(plural) for plural in self._kept},
            AUTHENTICATION: self._authentication,
            TOKEN_TRACKING: self._token_tracking,
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
                self._queue.add(AUTHENTICATION)

    async def _watch_configs(self, _ctx: RequestContext, options: WatchOptions) -> Watch:
        return await self._scopes["configmaps"][""].rest.watch(RequestContext(namespace=_SYSTEM), options)

    def _on_event(self, event: Event) -> None:
        name = event.item.fields["metadata.name"] if event.item is not None else ""
        if name == TOKEN_TRACKING or (name == AUTHENTICATION and event.type is not EventType.MODIFIED):
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
        name = SERVICE_CIDR_OBJECT["metadata"]["name"]
        found = await find_object(self._scopes["servicecidrs"][""], "", name)
        if found is None or is_ready(found.object()):
            return
        status = self._scopes["servicecidrs"]["status"]

        async def apply(existing: Object) -> Object:
            return await status.fields.apply(existing, ready_status(), _CIDR_CONTROLLER, force=True)

        await status.rest.update(RequestContext(), name, apply, UpdateOptions(keep_managers=True))

    async def _authentication(self) -> None:
        found = await self._config(AUTHENTICATION)
        data = found.object().get("data") or {} if found is not None else {}
        wanted = self._trust().joined(data, datetime.datetime.now(datetime.UTC))
        if found is None or wanted != data:
            await self._write(AUTHENTICATION, wanted, found)

    async def _token_tracking(self) -> None:
        found = await self._config(TOKEN_TRACKING)
        now = asyncio.get_running_loop().time()
        if found is None:
            if (pause := self._tracked_at + _TRACKING_PAUSE - now) > 0:
                self._queue.add_after(TOKEN_TRACKING, pause)
                return
            self._tracked_at = now
        today = datetime.datetime.now(datetime.UTC).date()
        wanted = token_tracking(today, found.object().get("data") if found is not None else None)
        if wanted is not None:
            await self._write(TOKEN_TRACKING, wanted, found)

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
