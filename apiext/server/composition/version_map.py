"""Composition of the version map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.base.meta.builtin_resources import STORAGE_VERSION_MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.api.authorization.authorizer import Authorize
    from apiext.api.endpoints.request import Handler
    from apiext.api.endpoints.scopes.open_watches import Watches
    from apiext.api.migration.migration_controller import MigrationController
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.api.serving.cache import ServingCache
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.definitions.catalog import Catalog
    from apiext.server.composition.admission import OpenAdmission


@dataclass(frozen=True, slots=True)
class VersionMapParts:
    """The parts of a server from which its version map is made with the first request for it."""

    catalog: Catalog
    cache: ServingCache
    workers: WorkerPool
    watches: Watches
    """All watches of the server: their end ends the streams of the map."""
    admission: OpenAdmission
    authorize: Authorize
    endpoints: Sequence[BuiltinEndpoint]
    migration: MigrationController | None
    """None if the server runs no StorageVersionMigrations."""
    migrates: bool
    """Whether the server migrates objects by itself."""
    stack: AsyncExitStack
    """Ends the work for readers."""

    def open(self) -> Handler:
        """Return the handler of the map."""
        # few servers are asked for it
        from apiext.server.version_map.handler import VersionMapHandler
        from apiext.server.version_map.sources import MapSources

        dynamic = self.admission.standalone or self.admission.host
        scopes = [one.scopes[""] for one in self.endpoints if one.resource is STORAGE_VERSION_MIGRATIONS]
        sources = MapSources(
            catalog=self.catalog,
            cache=self.cache,
            converters=self.cache.converters,
            workers=self.workers,
            configurations=dynamic.configurations if dynamic is not None else None,
            migrations=scopes[0] if scopes else None,
            progress=self.migration.progress if self.migration is not None else None,
            migrates=self.migrates,
        )
        handler = VersionMapHandler(sources, self.authorize, self.watches)
        self.stack.push_async_callback(handler.close)
        return handler
