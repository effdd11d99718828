"""Scopes in worker processes, made once for each state of a resource. They use the server's store and admission."""

from __future__ import annotations

import dataclasses
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from apiext.api.admission.remote import RemoteAdmission, admission_answers
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.endpoints.scopes.remote_scope import RemoteScope
from apiext.api.serving.builtin.definitions import definitions_endpoint
from apiext.api.serving.builtin.endpoints import DeferredScopes, gated_scopes
from apiext.api.serving.builtin.kinds import served_kind
from apiext.api.serving.info import ServingInfo, ServingVersion
from apiext.api.serving.remote.server_interfaces import (
    DefinitionSource,
    RulesSource,
    ServerDefinitions,
    conversion_answers,
    definition_answers,
    written_answers,
)
from apiext.base.meta.request import AdmissionOperation
from apiext.base.workers.server_link import answers_of
from apiext.resources.conversion.calls import ConversionCalls
from apiext.resources.conversion.metrics import RulesStats
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.conversion.unknown import UnknownConverter
from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.definitions.definition import Definition
from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionRest
from apiext.resources.registry.observed_rest import ObservedRest
from apiext.resources.registry.prune_guard import PruneGuard
from apiext.resources.registry.registration_gates import DEFAULT_GATES, RegistrationGates
from apiext.storage.direct.remote_store import RemoteStore
from apiext.storage.interface import ServerStore
from apiext.storage.rendering.worker_codec import WorkerCodec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apiext.api.admission.attributes import Admission
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import Answers, ServerLink
    from apiext.resources.conversion.calls import WebhookAnswer, WebhookCall
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.conversion.metrics import ConversionOutcome
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.backend import KeyValue, WriteResult
    from apiext.storage.interface import Codec, EncodedDraft, Item
    from apiext.storage.stored_bytes.version_counts import StoredCounts

_MAX_KEPT: Final = 16
"""Versions of definitions whose scopes a process keeps. The compiled schemas of a large one take some MB."""


@dataclass(frozen=True, slots=True)
class AskedStore:
    """Implements ServerStore."""

    link: ServerLink

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement ServerStore.get."""
        return self.link.ask(ServerStore.get, key)

    async def commit(self, key: str, raw: bytes, expected: int, draft: EncodedDraft | Item | None) -> WriteResult:
        """Implement ServerStore.commit."""
        return self.link.ask(ServerStore.commit, key, raw, expected, draft)

    async def delete(self, key: str, expected: int) -> WriteResult:
        """Implement ServerStore.delete."""
        return self.link.ask(ServerStore.delete, key, expected)

    async def written(self, item: Item) -> None:
        """Implement ServerStore.written."""
        self.link.ask(ServerStore.written, item)


@dataclass(frozen=True, slots=True)
class AskedCalls:
    """Implements ConversionCalls."""

    link: ServerLink

    async def post(self, call: WebhookCall) -> WebhookAnswer:
        """Implement ConversionCalls.post."""
        return self.link.ask(ConversionCalls.post, call)

    async def observe(self, number: int, outcome: ConversionOutcome) -> None:
        """Implement ConversionCalls.observe."""
        self.link.ask(ConversionCalls.observe, number, outcome)


@dataclass(frozen=True, slots=True, eq=False)
class AskedDefinitions:
    """Implements ObservedDefinitions: the server's catalog sees each write at once."""

    store: RemoteStore
    link: ServerLink
    codec: CRDCodec

    def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        self.link.ask(ServerDefinitions.observe, item)

    def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        self.link.ask(ServerDefinitions.forget, name, revision)

    async def count_stored(self, resource: GroupResource) -> StoredCounts:
        """Return the number of stored objects of a resource by version."""
        return self.link.ask(ServerDefinitions.count_stored, resource)


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """One version of a definition in one state."""

    name: str
    uid: str
    revision: int
    version: str
    rules: str
    """Identifies the conversion rules in their present use, "" without any."""
    unconverted: str
    """Why no object is converted, "" if they are."""
    prefix: str
    """The key prefix of the objects, with a final slash."""
    admitted: frozenset[AdmissionOperation]
    """Operations that the plug-ins in the server handle."""
    plugins: tuple[str, ...]
    """The plug-ins of webhooks and policies, which run in the worker process."""
    cbor: bool
    """Whether to store objects in CBOR."""


@dataclass(frozen=True, slots=True)
class _BuiltinPlace:
    """A built-in resource."""

    resource: BuiltinResource
    prefix: str
    """The key prefix of the objects, with a final slash."""
    admitted: frozenset[AdmissionOperation]
    plugins: tuple[str, ...]
    """As in VersionPlace."""
    guarded: bool
    """Whether to refuse removing versions with stored objects from definitions."""
    gates: RegistrationGates
    """The feature gates of the kinds that configure admission."""


class RemoteVersion:
    """The copies of one version of a definition in worker processes."""

    def __init__(self, info: ServingInfo, place: VersionPlace, calls: ConversionCalls | None, workers: WorkerPool, rules: Answers) -> None:
        """Prepare the copies of the version of a place. `calls` are those of its converter, `rules` the answers about its rules."""
        # the serving info holds the scopes that refer to this: a cycle would keep it until the next full garbage collection
        self._info = weakref.ref(info)
        self._definition = info.definition
        self._place = place
        self._calls = calls
        self._rules = rules
        self.codec = WorkerCodec(workers, _version_codec, place, _codec_answers(info.definition.item, rules, calls))

    def with_copies(self, served: ServingVersion) -> ServingVersion:
        """Return the version, built with `codec`, with scopes that have copies."""

        def more(log: CallLog | None) -> Answers:
            # all states of the definition with equal specification and names are as good
            info = self._info()
            definition = self._definition if info is None else info.definition
            return {**definition_answers(definition.item), **self._rules, **conversion_answers(self._calls, log)}

        return dataclasses.replace(served, scopes=_with_copies(served.scopes, version_scopes, self._place, more))


def _codec_answers(definition: Item, rules: Answers, calls: ConversionCalls | None) -> Callable[[CallLog | None], Answers]:
    """Return the answers for the copy of a codec, which refer to no codec."""
    source = {**definition_answers(definition), **rules}
    return lambda log: {**source, **conversion_answers(calls, log)}


def admitted(admission: Admission) -> tuple[frozenset[AdmissionOperation], tuple[str, ...]]:
    """Return the operations that the plug-ins in the server handle, and the names of those in worker processes."""
    rest = admission.in_server()
    operations = frozenset(operation for operation in AdmissionOperation if rest.handles(operation))
    return operations, () if admission.dynamic is None else admission.dynamic.names


def with_remote_builtin(endpoint: BuiltinEndpoint) -> BuiltinEndpoint:
    """Return an endpoint whose scopes have copies in worker processes."""
    if isinstance(endpoint.scopes, DeferredScopes):
        return dataclasses.replace(endpoint, scopes=DeferredScopes(lambda: _with_builtin_copies(endpoint).scopes))
    return _with_builtin_copies(endpoint)


def _with_builtin_copies(endpoint: BuiltinEndpoint) -> BuiltinEndpoint:
    main = endpoint.scopes[""]
    rest = cast("ResourceRest", main.rest)
    if isinstance(rest, ObservedRest) and not rest.in_workers:
        # its observer must see each write before the response
        return endpoint
    written = written_answers(rest) if isinstance(rest, CustomResourceDefinitionRest) else {}
    gates: RegistrationGates = getattr(rest.strategy, "gates", DEFAULT_GATES)
    guarded = isinstance(rest, CustomResourceDefinitionRest) and rest.guard.refuses
    place = _BuiltinPlace(endpoint.resource, rest.store.prefix, *admitted(main.admission), guarded, gates)
    return dataclasses.replace(endpoint, scopes=_with_copies(endpoint.scopes, _builtin_scopes, place, lambda _: written))


def _with_copies(
    scopes: Mapping[str, Scope],
    build: Callable[[ServerLink, Any], Mapping[str, Scope]],
    place: Any,
    more: Callable[[CallLog | None], Answers],
) -> Mapping[str, Scope]:
    main = scopes[""]
    rest = cast("ResourceRest", main.rest)

    def answers(log: CallLog | None) -> Answers:
        store = rest.store.for_workers(rest.codec)
        return {**answers_of(ServerStore, store), **admission_answers(main.admission, log), **more(log)}

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
    if place.rules:
        link.tell_at_end(RulesSource.count, _rules_stats(link).take)
    return known


def _rules_stats(link: ServerLink) -> RulesStats:
    """Return the counts of this process, which the server gets after each job."""
    found: RulesStats = link.kept.setdefault(RulesStats, RulesStats())
    return found


def _made(link: ServerLink, place: VersionPlace) -> tuple[Definition, ServingVersion]:
    # Imported with the first custom resource: the schema modules take long to import.
    from apiext.api.serving.builder import build_version

    definition = Definition.from_item(link.ask(DefinitionSource.definition))
    store = RemoteStore(AskedStore(link), place.prefix, definition.resource)
    version = next(version for version in definition.versions if version.name == place.version)
    admission = RemoteAdmission(link, place.admitted, place.plugins)
    return definition, build_version(
        ServingInfo(definition), version, store, admission, _converter(link, place, definition), cbor=place.cbor
    )


def _converter(link: ServerLink, place: VersionPlace, definition: Definition) -> Converter:
    if place.unconverted:
        return UnknownConverter(place.unconverted)
    if place.rules:
        # Imported with the first rules: most servers have none.
        from apiext.resources.conversion.rules.building import build_rules
        from apiext.resources.evaluation.compiled_version import version_schemas

        rules, schemas, storage = link.ask(RulesSource.rules), version_schemas(definition), definition.storage_version.name
        return build_rules(definition.name, rules.document, schemas, storage, in_use=rules.in_use, stats=_rules_stats(link)).converter
    if definition.conversion_strategy == "None":
        return NoneConverter()
    # Imported with the first webhook: most servers call none.
    from apiext.resources.conversion.webhook import WebhookConverter

    return WebhookConverter(definition.name, definition.head["spec"]["conversion"], AskedCalls(link))


def _builtin_scopes(link: ServerLink, place: _BuiltinPlace) -> Mapping[str, Scope]:
    """Return the scopes of a built-in resource."""
    resource = place.resource.resource.group_resource
    store = RemoteStore(AskedStore(link), place.prefix, resource)
    admission = RemoteAdmission(link, place.admitted, place.plugins)
    if (served := served_kind(place.resource)) is not None:
        scopes = served.endpoint(store, admission, Watches()).scopes
        return scopes if place.gates == DEFAULT_GATES else gated_scopes(scopes, place.gates)

    definitions = AskedDefinitions(store, link, CRDCodec())
    guard = PruneGuard(count=definitions.count_stored, refuses=place.guarded)
    return definitions_endpoint(definitions, guard, admission, Watches()).scopes
