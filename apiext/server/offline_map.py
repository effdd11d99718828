"""The map of a store, read without its server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from apiext.api.admission.attributes import Admission
from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.serving.builtin.kinds import endpoints_of
from apiext.api.serving.stored_documents import StoredDocuments
from apiext.base.meta.builtin_resources import ADMISSIONREGISTRATION_V1, STORAGE_VERSION_MIGRATIONS, STORAGEMIGRATION_V1
from apiext.resources.registry.request_context import RequestContext
from apiext.server.offline_store import open_offline
from apiext.server.version_map.composition import compose
from apiext.server.version_map.entries import ProblemReport
from apiext.server.version_map.problem_scans import invalid_pages, reports
from apiext.server.version_map.sources import FactFinder, MapSources
from apiext.storage.interface import ListOptions
from apiext.storage.watch_events import FAILURES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AsyncExitStack

    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.server.options.options import StorageOptions


async def read_map(options: StorageOptions, name: str | None, stack: AsyncExitStack, *, validate: bool) -> list[Object]:
    """Return the entries of all definitions in a store, or of one, with all names; `stack` closes the store.

    Raises:
        StartError: the store cannot be opened or read.
        BackendError, StorageError, StatusError: the objects cannot be counted.
    """
    parts = await open_offline(options, stack)
    stores, catalog = parts.cache.stores, parts.catalog
    endpoints = endpoints_of([ADMISSIONREGISTRATION_V1, STORAGEMIGRATION_V1], stores, Admission(), Watches())
    sources = MapSources(
        catalog=catalog,
        cache=parts.cache,
        converters=parts.cache.converters,
        workers=parts.workers,
        configurations=await _configurations(endpoints),
        migrations=next(one.scopes[""] for one in endpoints if one.resource is STORAGE_VERSION_MIGRATIONS),
    )
    documents, finder = StoredDocuments(catalog, parts.cache, parts.workers), FactFinder(sources)
    await finder.refresh()
    found = []
    for definition in catalog.all():
        if name in (None, definition.name):
            problems = await _problems(documents, definition) if validate else None
            counts = await stores.count_stored(definition.resource)
            entry = compose(definition, counts, await finder.facts(definition, problems))
            found.append(entry.shown | {"names": {part.key: part.items for part in entry.named}, "hidden": {}})
    return found


async def _configurations(endpoints: Iterable[BuiltinEndpoint]) -> ConfigurationIndex | None:
    """Return the stored webhook configurations and policies, None if they cannot be read."""
    index = ConfigurationIndex()
    followers = index.followers
    try:
        for endpoint in endpoints:
            if endpoint.resource.plural in followers:
                listed = await endpoint.scopes[""].rest.list(RequestContext(), ListOptions())
                followers[endpoint.resource.plural].replaced([item.object() for item in listed.items])
    except FAILURES:
        return None
    return index


async def _problems(documents: StoredDocuments, definition: Definition) -> ProblemReport:
    report = ProblemReport()
    try:
        async for each in reports(invalid_pages(documents, definition.name)):
            report = each
    except FAILURES as error:
        # without its conversion webhook, a definition still has counts
        report = replace(report, error=str(error))
    return report
