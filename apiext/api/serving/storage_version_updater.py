"""Fills StorageVersions with the versions that this server writes, reads and serves. Removes the entries of dead servers.

The reference reports built-in resources only; this server also reports custom resources. The reference refuses writes until it has
reported all resources; here an entry follows within moments.
Mirrors apiserver pkg/storageversion and kubernetes pkg/controller/storageversiongc.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.resources.definitions.catalog import CatalogFollower
from apiext.resources.registry.builtin.storageversion import with_servers
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError
from apiext.storage.interface import ListOptions, Preconditions
from apiext.storage.replicas.call_folder import FAREWELL_SECONDS
from apiext.storage.replicas.identity_lease import RENEW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.replicas.identity_lease import IdentityLease

_FAILURES: Final = (errors.StatusError, StorageError, BackendError)
_DRAIN_SECONDS: Final = 1.0
"""Pause while running requests may still write an earlier version."""

_LOG: Final = get_logger(__name__)


class StorageVersionUpdater:
    """Reports the versions of built-in and custom resources, and keeps the Lease of this server."""

    def __init__(
        self, endpoint: BuiltinEndpoint, builtins: Iterable[BuiltinResource], catalog: Catalog, cache: ServingCache, lease: IdentityLease
    ) -> None:
        """Create the updater. `endpoint` is that of StorageVersions, `builtins` are this server's built-in resources."""
        self._rest = endpoint.scopes[""].rest
        self._status = endpoint.scopes["status"].rest
        self._builtins = {_name(one.kind.group, one.plural): _builtin_versions(one) for one in builtins}
        self._catalog = catalog
        self._cache = cache
        self._lease = lease
        self._queue = WorkQueue(
            self._sync, log=_LOG, event="storage version update failed, retrying", key_field="name", retryable=_FAILURES
        )
        self._definitions: dict[str, str] = {}
        """Names of definitions by names of StorageVersions."""
        self._follower = CatalogFollower(catalog, self._on_change)

    async def start(self) -> None:
        """Write the Lease, and report all resources.

        Raises:
            BackendError: the store does not answer.
        """
        await self._lease.renew()
        self._follower.start({"storage-versions": self._queue.run(), "identity-lease": self._keep()})
        for name in self._builtins:
            self._queue.add(name)
        for definition in self._catalog.all():
            self._on_change(None, definition)

    async def close(self) -> None:
        """Stop, and delete the Lease. Another server removes the entries of this one."""
        await self._follower.close()
        with suppress(BackendError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self._lease.release()

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Enqueue the resource of a changed definition; implements catalog.Listener."""
        for definition in (old, new):
            if definition is not None and definition.is_established:
                name = _name(definition.group, definition.names.plural)
                self._definitions[name] = definition.name
                self._queue.add(name)

    async def _sync(self, name: str) -> float | None:
        """Write this server's entry. Return the seconds until the next time."""
        if name in self._builtins:
            await self._put(name, self._builtins[name])
            return None
        definition = self._catalog.get(self._definitions[name])
        if definition is None or not definition.is_established:
            del self._definitions[name]
            await self._remove(name, {self._lease.name})
            return None
        encoding = self._cache.encoding(definition)
        names = list(dict.fromkeys([*(version.name for version in definition.versions), encoding.version]))
        served = [version.name for version in definition.served_versions]
        await self._put(name, _versions(definition.group, encoding.version, names, served))
        return _DRAIN_SECONDS if encoding.revision < definition.revision else None

    async def _put(self, name: str, versions: Object) -> None:
        """Write this server's entry into a StorageVersion. Create a missing one."""
        own = {"apiServerID": self._lease.name} | versions

        async def with_own(existing: Object) -> Object:
            servers = existing["status"].get("storageVersions") or []
            found = [own if one.get("apiServerID") == own["apiServerID"] else one for one in servers]
            return with_servers(existing, found if own in found else [*found, own])

        try:
            await self._status.update(RequestContext(), name, with_own, UpdateOptions())
        except errors.StatusError as error:
            if error.code != 404:
                raise
            obj: Object = {"kind": "StorageVersion", "apiVersion": "internal.apiserver.k8s.io/v1alpha1", "metadata": {"name": name}}
            await self._rest.create(RequestContext(), obj | {"spec": {}, "status": {}}, CreateOptions())
            await self._status.update(RequestContext(), name, with_own, UpdateOptions())

    async def _remove(self, name: str, gone: Collection[str]) -> None:
        """Remove the entries of servers. Delete the StorageVersion with its last entry."""

        async def without(existing: Object) -> Object:
            servers = existing["status"].get("storageVersions") or []
            left = [one for one in servers if one.get("apiServerID") not in gone]
            return existing if len(left) == len(servers) else with_servers(existing, left)

        with suppress(errors.StatusError):
            item, _ = await self._status.update(RequestContext(), name, without, UpdateOptions())
            if not item.object()["status"].get("storageVersions"):
                unchanged = Preconditions(resource_version=str(item.revision))
                await self._rest.delete(RequestContext(), name, DeleteOptions(preconditions=unchanged))

    # --- the Lease ------------------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renew the Lease and remove the entries of dead servers, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._lease.renew()
                await self.collect()
            except _FAILURES as error:
                _LOG.warning("server lease not renewed, retrying", error=str(error))
            except Exception:  # noqa: BLE001 -- without the Lease, other servers remove the entries of this one
                _LOG.exception("server lease not renewed, retrying")

    async def collect(self) -> None:
        """Remove the entries of servers without a Lease.

        Raises:
            StatusError, BackendError: the store cannot be read.
        """
        live = await self._lease.live()
        found = await self._rest.list(RequestContext(), ListOptions(resource_version="0"))
        for item in found.items:
            obj = item.object()
            servers = {one.get("apiServerID", "") for one in obj["status"].get("storageVersions") or ()}
            if servers - live:
                await self._remove(obj["metadata"]["name"], servers - live)


def _name(group: str, plural: str) -> str:
    return f"{group or 'core'}.{plural}"


def _builtin_versions(resource: BuiltinResource) -> Object:
    """Return the versions of a built-in resource. The storage version need not be served."""
    served, stored = resource.kind.version, (resource.hashed_kind or resource.kind).version
    return _versions(resource.kind.group, stored, list(dict.fromkeys([served, stored])), [served])


def _versions(group: str, encoding: str, decodable: list[str], served: list[str]) -> Object:
    prefix = f"{group}/" if group else ""
    return {
        "encodingVersion": prefix + encoding,
        "decodableVersions": [prefix + name for name in decodable],
        "servedVersions": [prefix + name for name in served],
    }
