"""Scopes in worker processes, made once for each state of a resource. They use the server's store and admission."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from apiext.admission.remote import RemoteAdmission
from apiext.conversion.none import NoneConverter
from apiext.conversion.remote import RemoteCalls
from apiext.definitions.codec import CRDCodec
from apiext.definitions.definition import Definition
from apiext.endpoints.scopes.open_watches import Watches
from apiext.endpoints.scopes.remote_scope import RemoteScope
from apiext.meta.builtin_resources import EVENTS, NAMESPACES, STORAGE_VERSION_MIGRATIONS, STORAGE_VERSIONS
from apiext.meta.request import AdmissionOperation
from apiext.registry.customresourcedefinition import CustomResourceDefinitionRest
from apiext.registry.prune_guard import PruneGuard
from apiext.serving import builtin
from apiext.serving.info import ServingInfo, ServingVersion
from apiext.storage.direct.remote_store import RemoteStore
from apiext.storage.rendering.remote_codec import RemoteCodec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from apiext.conversion.interface import Converter, CopiedConverter
    from apiext.definitions.definition import Version
    from apiext.endpoints.scopes.scope import Scope
    from apiext.meta.builtin_resources import BuiltinResource
    from apiext.meta.gvk import GroupResource
    from apiext.registry.customresources.codec import CustomResourceCodec
    from apiext.registry.rest import ResourceRest
    from apiext.storage.interface import Codec, Item
    from apiext.storage.stored.version_counts import StoredCounts
    from apiext.workers.server_link import ServerLink

_MAX_KEPT: Final = 16
"""Versions of definitions whose scopes a process keeps. The compiled schemas of a large one take some MB."""


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """One version of a definition in one state."""

    name: str
    uid: str
    revision: int
    version: str
    admitted: frozenset[AdmissionOperation]
    """Operations that the server's admission handles."""
    cbor: bool
    """Whether to store objects in CBOR."""


@dataclass(frozen=True, slots=True)
class _BuiltinPlace:
    """A built-in resource."""

    resource: BuiltinResource
    admitted: frozenset[AdmissionOperation]
    guarded: bool
    """Whether to refuse removing versions with stored objects from definitions."""


@dataclass(frozen=True, slots=True, eq=False)
class _RemoteDefinitions:
    """Implements ObservedDefinitions: the server's catalog sees each write at once."""

    store: RemoteStore
    link: ServerLink
    codec: CRDCodec

    def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        self.link.ask("observe", item)

    def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        self.link.ask("forget", name, revision)


def with_remote_version(served: ServingVersion, info: ServingInfo, version: Version, converter: CopiedConverter) -> ServingVersion:
    """Return a version whose scopes have copies in worker processes."""
    main, definition, codec = served.scopes[""], info.definition, cast("CustomResourceCodec", served.codec)

    async def latest() -> Item:
        # A later state with equal specification and names is as good.
        return info.definition.item

    place = VersionPlace(definition.name, definition.uid, definition.revision, version.name, _admitted(main), codec.cbor)
    # its answers refer to no codec: an unused one must be garbage at once
    conversion = converter.answers()
    answers = {
        "definition": _answer(definition.item),
        "prefix": cast("ResourceRest", main.rest).answers()["prefix"],
        **conversion,
    }
    codec.remote = RemoteCodec(_version_codec, place, answers)
    return dataclasses.replace(served, scopes=_with_remote(served.scopes, version_scopes, place, definition=latest, **conversion))


def _answer(item: Item) -> Callable[..., Awaitable[Item]]:
    async def answer() -> Item:
        return item

    return answer


def with_remote_builtin(endpoint: builtin.BuiltinEndpoint) -> builtin.BuiltinEndpoint:
    """Return an endpoint whose scopes have copies in worker processes."""
    rest = endpoint.scopes[""].rest
    guarded = isinstance(rest, CustomResourceDefinitionRest) and rest.guard.refuses
    place = _BuiltinPlace(endpoint.resource, _admitted(endpoint.scopes[""]), guarded)
    return dataclasses.replace(endpoint, scopes=_with_remote(endpoint.scopes, _builtin_scopes, place))


def _admitted(scope: Scope) -> frozenset[AdmissionOperation]:
    return frozenset(operation for operation in AdmissionOperation if scope.admission.handles(operation))


def _with_remote(
    scopes: Mapping[str, Scope],
    build: Callable[[ServerLink, Any], Mapping[str, Scope]],
    place: Any,
    **more: Callable[..., Awaitable[Any]],
) -> Mapping[str, Scope]:
    main = scopes[""]
    rest = cast("ResourceRest", main.rest)

    def answers() -> Mapping[str, Callable[..., Awaitable[Any]]]:
        return {**rest.answers(), "admit": main.admission.admit, "validate": main.admission.validate, **more}

    remote = RemoteScope(build, place, answers)
    return {name: dataclasses.replace(scope, remote=remote) for name, scope in scopes.items()}


# --- in a worker process ----------------------------------------------------------------------------------------------


def version_scopes(link: ServerLink, place: VersionPlace) -> Mapping[str, Scope]:
    """Return the scopes of a version of a definition."""
    return kept_version(link, place)[1].scopes


def _version_codec(link: ServerLink, place: VersionPlace) -> Codec:
    return kept_version(link, place)[1].codec


def kept_version(link: ServerLink, place: VersionPlace) -> tuple[Definition, ServingVersion]:
    """Return a definition and one of its versions, made at the first call for this state."""
    kept: dict[VersionPlace, tuple[Definition, ServingVersion]] = link.kept.setdefault(VersionPlace, {})
    known = kept.pop(place, None)
    if known is None:
        known = _made(link, place)
        if len(kept) >= _MAX_KEPT:
            del kept[next(iter(kept))]
    kept[place] = known
    return known


def _made(link: ServerLink, place: VersionPlace) -> tuple[Definition, ServingVersion]:
    # Imported with the first custom resource: the schema modules take long to import.
    from apiext.serving.builder import build_version

    definition = Definition.from_item(link.ask("definition"))
    store = RemoteStore(link, definition.resource)
    version = next(version for version in definition.versions if version.name == place.version)
    admission = RemoteAdmission(link, place.admitted)
    return definition, build_version(ServingInfo(definition), version, store, admission, _converter(link, definition), cbor=place.cbor)


def _converter(link: ServerLink, definition: Definition) -> Converter:
    if definition.conversion_strategy == "None":
        return NoneConverter()
    # Imported with the first webhook: most servers call none.
    from apiext.conversion.webhook import WebhookConverter

    return WebhookConverter(definition.name, definition.head["spec"]["conversion"], RemoteCalls(link))


def _builtin_scopes(link: ServerLink, place: _BuiltinPlace) -> Mapping[str, Scope]:
    """Return the scopes of a built-in resource."""
    resource = place.resource.resource.group_resource
    store = RemoteStore(link, resource)
    admission = RemoteAdmission(link, place.admitted)
    if resource == NAMESPACES.resource.group_resource:
        return builtin.namespaces_endpoint(store, admission, Watches()).scopes
    if resource == EVENTS.resource.group_resource:
        return builtin.events_endpoint(store, admission, Watches()).scopes
    if resource == STORAGE_VERSIONS.resource.group_resource:
        return builtin.storage_versions_endpoint(store, admission, Watches()).scopes
    if resource == STORAGE_VERSION_MIGRATIONS.resource.group_resource:
        return builtin.storage_version_migrations_endpoint(store, admission, Watches()).scopes

    async def count(resource: GroupResource) -> StoredCounts:
        counts: StoredCounts = link.ask("count_stored", resource)
        return counts

    guard = PruneGuard(count=count, refuses=place.guarded)
    return builtin.definitions_endpoint(_RemoteDefinitions(store, link, CRDCodec()), guard, admission, Watches()).scopes
