"""What the map is made of, and the facts about a definition from these sources."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.admission.sources import AdmissionPhase, NotReadyError, RequestPlace
from apiext.api.migration import migration_state
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.objectmeta import conditions
from apiext.base.meta.request import AdmissionOperation
from apiext.base.texts import counted
from apiext.resources.registry.builtin.storageversion import FAILED, RUNNING
from apiext.resources.registry.request_context import RequestContext
from apiext.server.version_map import conversions
from apiext.server.version_map.conversions import client_target
from apiext.server.version_map.entries import GUARDS, DefinitionFacts, MigrationProgressShown, MigrationWay
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.api.admission.sources import ConfigurationSource, HookEntry, PolicyEntry
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.migration.migration_state import MigrationProgress
    from apiext.api.serving.cache import ServingCache
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.conversion.factory import ConverterFactory
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition
    from apiext.server.version_map.entries import ProblemReport

    FindProgress = Callable[[str], MigrationProgress | None]
    """Returns the progress of the migration with a uid, None if this server does not run it."""

PATIENCE_SECONDS: Final = 0.5
"""Seconds for which the map waits for the first lists of configurations. Writes wait longer."""

_WEBHOOKS: Final = {phase: f"{phase}webhookconfigurations" for phase in AdmissionPhase}
_POLICIES: Final = {phase: f"{phase}admissionpolicies" for phase in AdmissionPhase}

_SHOWN: Final = 5
"""Migrations of a resource that are shown, the latest ones."""
_COUNTS: Final = re.compile(r"(\d+)/(\d+) (?:objects )?not yet migrated|(\d+) objects verified migrated")
_MAX_MESSAGE: Final = 500
"""Characters."""


async def migrations_by_resource(scope: Scope, progress: FindProgress | None) -> dict[GroupResource, list[MigrationProgressShown]]:
    """Return the latest migrations of each resource, the newest first.

    Raises:
        BackendError, StorageError, StatusError: they cannot be read.
    """
    listed = await scope.rest.list(RequestContext(), ListOptions(resource_version="0"))
    found: dict[GroupResource, list[MigrationProgressShown]] = {}
    objects = [item.object() for item in listed.items]
    for one in sorted(objects, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True):
        rows = found.setdefault(migration_state.resource_of(one), [])
        if len(rows) < _SHOWN:
            rows.append(_shown(one, None if progress is None else progress(one["metadata"]["uid"])))
    return found


def _shown(migration: Object, progress: MigrationProgress | None) -> MigrationProgressShown:
    metadata, state, message = migration["metadata"], *_state(migration)
    left, total = _counts(message) if progress is None else progress
    return MigrationProgressShown(
        metadata["name"], state, str(metadata.get("creationTimestamp") or ""), message[:_MAX_MESSAGE], left, total
    )


def _state(migration: Object) -> tuple[str, str]:
    """Return the state, and the message of the condition that tells it."""
    found = {one["type"]: str(one.get("message") or "") for one in migration["status"].get("conditions") or ()}
    if migration_state.has_succeeded(migration):
        return "succeeded", found.get(RUNNING, "")
    if conditions.is_true(migration["status"].get("conditions") or (), FAILED):
        return "failed", found.get(FAILED, "")
    if migration_state.is_running(migration):
        return "running", found.get(RUNNING, "")
    return "pending", ""


def _counts(message: str) -> tuple[int | None, int | None]:
    """Return the objects that are left, and all objects, as far as a message names them."""
    match = _COUNTS.search(message)
    if match is None:
        return None, None
    return (0, int(match[3])) if match[3] else (int(match[1]), int(match[2]))


async def guards_of(source: ConfigurationSource, definition: Definition) -> Mapping[str, Sequence[Object]] | None:
    """Return the webhooks and policies by plural, each with the operations that it concerns; None while they are not known."""
    found: dict[str, dict[str, tuple[Object, list[str]]]] = {plural: {} for plural in GUARDS}
    try:
        for place in _places(definition):
            operation = f"{place.operation} {place.subresource}".rstrip()
            for phase in AdmissionPhase:
                for hook in await source.webhooks(phase, place):
                    _add(found[_WEBHOOKS[phase]], hook.uid, _webhook(hook), operation)
                for policy in await source.policies(phase, place):
                    _add(found[_POLICIES[phase]], policy.policy["metadata"]["name"], _policy(policy), operation)
    except NotReadyError:
        return None
    return {plural: [about | {"operations": operations} for about, operations in rows.values()] for plural, rows in found.items() if rows}


def _places(definition: Definition) -> list[RequestPlace]:
    group, resource = definition.resource
    subresources = [""]
    if any(version.has_status for version in definition.versions):
        subresources.append("status")
    if any(version.scale is not None for version in definition.versions):
        subresources.append("scale")
    return [
        RequestPlace(group, resource, subresource, operation)
        for subresource in subresources
        for operation in AdmissionOperation
        # subresources can only be updated
        if not subresource or operation is AdmissionOperation.UPDATE
    ]


def _add(rows: dict[str, tuple[Object, list[str]]], key: str, about: Object, operation: str) -> None:
    rows.setdefault(key, (about, []))[1].append(operation)


def _webhook(entry: HookEntry) -> Object:
    hook = entry.hook
    return {
        "name": f"{entry.configuration}: {hook['name']}",
        "failurePolicy": hook.get("failurePolicy") or "Fail",
        "target": client_target(hook.get("clientConfig") or {}),
    }


def _policy(entry: PolicyEntry) -> Object:
    spec = entry.policy.get("spec") or {}
    return {
        "name": entry.policy["metadata"]["name"],
        "failurePolicy": spec.get("failurePolicy") or "Fail",
        "target": counted(len(entry.bindings), "binding"),
    }


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
                async with asyncio.timeout(PATIENCE_SECONDS):
                    guards = await guards_of(source, definition)
            self._finds_guards = guards is not None
        return guards
