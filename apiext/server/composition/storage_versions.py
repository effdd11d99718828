"""Composition of the records of stored versions: for the other servers on the store, and the StorageVersions for clients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import STORAGE_VERSIONS
from apiext.server.routes.version import RELEASE
from apiext.storage.backends.unfinished_restore import refuse_unfinished_restore
from apiext.storage.replicas.roll_call import Replicas

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.resources.definitions.catalog import Catalog
    from apiext.server.options.options import StorageOptions
    from apiext.storage.replicas.replica import ReplicaEncoding

MAX_DEFINITIONS: Final = 5000
"""With more definitions, a server's record (some hundred KB) omits those with one version only."""


async def start_replicas(options: StorageOptions, name: str, catalog: Catalog, cache: ServingCache, stack: AsyncExitStack) -> Replicas:
    """Record the process `name` among those on the store until `stack` closes.

    Raises:
        BackendError: the store does not answer, or its restoration has begun since it was opened.
    """
    replicas = Replicas(
        cache.stores.backend,
        options.prefix,
        address=name,
        release=RELEASE,
        encodings=partial(_encodings, catalog, cache),
        is_sole=options.etcd is None,
    )
    await replicas.start()
    stack.push_async_callback(replicas.close)
    cache.guards.has_former = lambda: replicas.has_former
    # a restoration writes its record before it looks for servers: one of the two finds the other
    await refuse_unfinished_restore(cache.stores.backend, options.prefix)
    return replicas


def _encodings(catalog: Catalog, cache: ServingCache) -> dict[str, ReplicaEncoding]:
    """Return the encodings in which this server writes instances, by definition. See MAX_DEFINITIONS for omitted ones."""
    definitions = catalog.all()
    is_short = len(definitions) <= MAX_DEFINITIONS
    return {one.name: cache.encoding(one) for one in definitions if is_short or len(one.versions) > 1}


async def start_storage_versions(
    endpoints: Sequence[BuiltinEndpoint],
    options: StorageOptions,
    name: str,
    catalog: Catalog,
    cache: ServingCache,
    stack: AsyncExitStack,
) -> None:
    """Maintain the StorageVersions until `stack` closes, if the built-in `endpoints` of this server include them.

    Raises:
        BackendError: the store does not answer.
    """
    by_resource = {endpoint.resource: endpoint for endpoint in endpoints}
    if STORAGE_VERSIONS not in by_resource:
        return
    # few servers have the feature gate
    from apiext.api.serving.storage_version_updater import StorageVersionUpdater
    from apiext.storage.replicas.identity_lease import IdentityLease, server_id

    lease = IdentityLease(cache.stores.backend, options.prefix, server_id(name))
    updater = StorageVersionUpdater(by_resource[STORAGE_VERSIONS], by_resource, catalog, cache, lease)
    await updater.start()
    stack.push_async_callback(updater.close)
