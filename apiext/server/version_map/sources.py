"""What the map is made of, and the facts about a definition from these sources."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.meta.gvk import GroupResource
from apiext.server.version_map import conversions
from apiext.server.version_map.entries import DefinitionFacts, MigrationWay
from apiext.server.version_map.guards import guards_of
from apiext.server.version_map.migrations import migrations_by_resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.admission.sources import ConfigurationSource
    from apiext.conversion.factory import ConverterFactory
    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.endpoints.scopes.scope import Scope
    from apiext.meta.encoding.json_codec import Object
    from apiext.server.version_map.entries import MigrationProgressShown, ProblemReport
    from apiext.server.version_map.migrations import FindProgress
    from apiext.serving.cache import ServingCache
    from apiext.workers.pool import WorkerPool

_PATIENCE_SECONDS: Final = 0.5
"""Seconds for which the map waits for the first lists of configurations. Writes wait longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSources:
    """The parts of a server that the map reads."""

    catalog: Catalog
    cache: ServingCache
    converters: ConverterFactory
    workers: WorkerPool
    """Check stored objects."""
    configurations: ConfigurationSource | None = None
    """None if admission is not known."""
    migrations: Scope | None = None
    """Serves StorageVersionMigrations, None for a server without them."""
    progress: FindProgress | None = None
    """None for a server that runs no migrations."""
    migrates: bool = False
    """Whether the server migrates objects by itself."""

    @property
    def migration_way(self) -> MigrationWay:
        """Return how objects come to the storage version."""
        if self.migrates:
            return MigrationWay.AUTOMATIC
        return MigrationWay.NONE if self.migrations is None else MigrationWay.REQUESTED


class FactFinder:
    """Finds the facts about definitions. What concerns all of them is read by `refresh`."""

    def __init__(self, sources: MapSources) -> None:
        self._sources = sources
        self._rules = conversions.RulesStates(sources.converters.known)
        self._routes: Mapping[str, Sequence[Object]] = {}
        self._migrations: Mapping[GroupResource, Sequence[MigrationProgressShown]] = {}
        self._finds_guards = True
        """Whether the configurations have been listed, as far as is known since the last refresh."""

    async def refresh(self) -> None:
        """Read the conversions and the migrations.

        Raises:
            BackendError, StorageError, StatusError: the migrations cannot be read; the earlier ones remain.
        """
        sources = self._sources
        self._finds_guards = True
        self._routes = conversions.routes_by_definition(sources.converters.stats)
        if sources.migrations is not None:
            self._migrations = await migrations_by_resource(sources.migrations, sources.progress)

    async def facts(self, definition: Definition, problems: ProblemReport | None) -> DefinitionFacts:
        """Return the facts about a definition."""
        sources = self._sources
        routes = self._routes.get(definition.name, ())
        return DefinitionFacts(
            problems=problems,
            conversion=conversions.conversion_facts(definition, routes, sources.converters.circuits, self._rules.of(definition)),
            migrations=self._migrations.get(definition.resource, ()),
            migration=sources.migration_way,
            guards=await self._guards(definition),
        )

    async def _guards(self, definition: Definition) -> Mapping[str, Sequence[Object]] | None:
        """Return the guards of a definition, None if they are not known. Of all definitions, only one waits for the configurations."""
        source, guards = self._sources.configurations, None
        if source is not None and self._finds_guards:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    guards = await guards_of(source, definition)
            self._finds_guards = guards is not None
        return guards
