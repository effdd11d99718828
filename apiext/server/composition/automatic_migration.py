"""Composition of the automatic migration of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.resources.definitions.controllers.status_writer import StatusWriter
from apiext.resources.managedfields.field_manager import SERVER
from apiext.storage.replicas.lock import ReplicaLock

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.definition_informer import DefinitionInformer
    from apiext.server.options.options import ServerOptions
    from apiext.storage.replicas.roll_call import Replicas

_LOCK: Final = "migration"


def start_automatic_migration(
    informer: DefinitionInformer,
    definitions: BuiltinEndpoint,
    cache: ServingCache,
    replicas: Replicas,
    workers: WorkerPool,
    options: ServerOptions,
    stack: AsyncExitStack,
) -> None:
    """Start automatic migration until `stack` closes, if the options enable it."""
    if not options.migrates:
        return
    # few servers migrate
    from apiext.api.migration.automatic_migration import AutomaticMigration

    stores = cache.stores
    migration = AutomaticMigration(
        catalog=informer.catalog,
        stores=stores,
        replicas=replicas,
        lock=ReplicaLock(stores.backend, options.storage.prefix, replicas, _LOCK),
        writer=StatusWriter(informer, definitions.scopes["status"].fields.recorder(SERVER)),
        workers=workers,
        scope=lambda definition: cache.storage_version(cache.current(definition)).scopes[""],
        guard=cache.guards.for_clients,
    )
    migration.start()
    stack.push_async_callback(migration.close)
