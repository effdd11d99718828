"""Cache of serving infos: created with the first request for a definition, replaced when the definition changes.

Mirrors the storage map of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import asyncio
import dataclasses
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.admission.terminating_definition import ForbidCreate, Termination
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.serving.info import ServingInfo, ServingVersion
from apiext.api.serving.remote.remote_scopes import RemoteVersion, VersionPlace, admitted
from apiext.api.serving.remote.server_interfaces import GivenRules, rules_answers
from apiext.base.meta import errors
from apiext.base.meta.host_annotations import LEAVING
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.webhook.circuit_breaker import PATIENCE_SECONDS, too_many_waiting
from apiext.resources.conversion.unknown import UnknownConverter
from apiext.resources.definitions.mirror_phases import expired
from apiext.storage.rendering.renderer import WaitingLimit
from apiext.storage.replicas.replica import ReplicaEncoding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.api.admission.attributes import Admission
    from apiext.api.serving.instance_guard import InstanceGuards
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import RequestInfo
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.conversion.circuits import ConversionCircuits
    from apiext.resources.conversion.factory import ConverterFactory
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition, Version
    from apiext.storage.factory import StoreFactory
    from apiext.storage.interface import Codec

_LOG: Final = get_logger(__name__)
DRAIN_TIMEOUT: Final = 120.0
"""Seconds for running requests to finish before the server tears down their replaced serving info."""

_READS: Final = frozenset({"get", "list"})
WAITING_READERS: Final = WaitingLimit(PATIENCE_SECONDS, 100, too_many_waiting)
"""A quarter of the server's concurrent reads may wait for a silent webhook."""


@dataclass(frozen=True, slots=True, eq=False)
class SilenceNotice:
    """Warns readers of objects that the conversion webhook would not convert at present. Repeats its last call now and then."""

    circuits: ConversionCircuits
    info: weakref.ref[ServingInfo]
    """The serving info, which has the notice."""

    def __call__(self, request: RequestInfo) -> Sequence[str]:
        """Return the warnings that a request gets."""
        info = self.info()
        if info is None:
            return ()
        definition = info.definition
        circuit = self.circuits.of(definition.name)
        if circuit is None or circuit.error is None or request.verb not in _READS:
            return ()
        # what is stored in the version needs no conversion
        if definition.head["status"]["storedVersions"] == [request.version]:
            return ()
        circuit.probe()
        return (f"the conversion webhook of {definition.name} does not answer: what it converted before is shown, and anything else fails",)


class KeptCodecs:
    """Codecs of earlier states of definitions, by uid and version, until the versions of the current state are built."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Codec]] = {}

    def change(self, old: Definition, new: Definition | None, versions: Mapping[str, ServingVersion]) -> None:
        """Keep the codecs of the old state, and earlier ones, that render as the new state will."""
        codecs = self._kept.pop(old.uid, {}) | {
            name: served.codec for name, served in versions.items() if served.codec.conversion is not None
        }
        if new is None or not codecs:
            return
        before, after = old.object["spec"], new.object["spec"]
        kept = {name: codec for name, codec in codecs.items() if _render_equally(before, after, name)}
        if kept:
            self._kept[old.uid] = kept

    def take(self, definition: Definition, version: str) -> Codec | None:
        """Return and forget the kept codec of a version."""
        return self._kept.get(definition.uid, {}).pop(version, None)


def _render_equally(before: Object, after: Object, version: str) -> bool:
    """Report whether a version renders stored objects equally under two specs."""
    old, new = ({one["name"]: one for one in spec["versions"]} for spec in (before, after))
    # the schema of its own version prunes and defaults an object before conversion
    same_schemas = all(name in new and one.get("schema") == new[name].get("schema") for name, one in old.items())
    same_members = all(before.get(member) == after.get(member) for member in ("conversion", "preserveUnknownFields"))
    return (
        same_schemas
        and same_members
        and before["names"]["kind"] == after["names"]["kind"]
        and old[version].get("selectableFields") == new[version].get("selectableFields")
    )


class ServingCache:
    """Serving infos by the uid of their definition.

    `on_change` must be the first listener of the catalog, so that the old serving info is gone before other listeners act.
    """

    def __init__(
        self,
        stores: StoreFactory,
        admission: Admission,
        guards: InstanceGuards,
        converters: ConverterFactory,
        workers: WorkerPool,
        watches: Watches | None = None,
        *,
        cbor: bool = False,
    ) -> None:
        """Create the cache. `workers` do heavy work. Custom resources are stored in CBOR if `cbor` is set."""
        self.stores = stores
        self._cbor = cbor
        self.guards = guards
        self._admission = admission
        self.workers = workers
        self.converters = converters
        self._infos: dict[str, ServingInfo] = {}
        self._retired: set[ServingInfo] = set()
        self._kept = KeptCodecs()
        self._tasks: set[asyncio.Task[None]] = set()
        converters.known.subscribe(self.on_rules_change)
        self.watches = Watches(watches)
        """All open watches of custom resources."""

    def info(self, definition: Definition) -> ServingInfo:
        """Return the serving info of a definition in exactly this state. Create it if necessary."""
        info = self._infos.get(definition.uid)
        if info is not None:
            if info.definition is definition:
                return info
            if info.fits(definition):
                info.definition = definition
                return info
            self._retire(info)
        info = ServingInfo(definition, watches=Watches(self.watches), ending=Termination(definition.is_terminating))
        self._infos[definition.uid] = info
        return info

    def current(self, definition: Definition) -> ServingInfo:
        """Return the serving info of a definition, perhaps of a later state than the given one."""
        return self._infos.get(definition.uid) or self.info(definition)

    def version(self, info: ServingInfo, name: str) -> ServingVersion | None:
        """Return one version of a serving info, built at the first call. Return None if the definition does not have it."""
        served = info.versions.get(name)
        if served is None:
            version = info.definition.version(name)
            return None if version is None else self._build(info, version)
        return served

    def storage_version(self, info: ServingInfo) -> ServingVersion:
        """Return the storage version of a serving info, built at the first call."""
        version = info.definition.storage_version
        return info.versions.get(version.name) or self._build(info, version)

    def _build(self, info: ServingInfo, version: Version) -> ServingVersion:
        # Imported with the first custom resource: the schema modules take long to import.
        from apiext.api.serving.builder import build_version

        definition = info.definition
        store = self.stores.store(definition.resource, self.guards.for_clients(definition), WAITING_READERS)
        converter = info.converter = info.converter or self._converter(definition)
        admission = ForbidCreate(self._admission, info.ending)
        rules = self.converters.known.of(definition.name)
        names = definition.name, definition.uid, definition.revision, version.name
        given = None if rules is None else GivenRules(rules.document, rules.digest, in_use=self.converters.known.is_in_use(rules))
        unconverted = converter.reason if isinstance(converter, UnknownConverter) else ""
        place = VersionPlace(*names, given.state if given else "", unconverted, store.prefix, *admitted(admission), self._cbor)
        remote = RemoteVersion(info, place, converter.calls, self.workers, rules_answers(given, self.converters.stats.rules))
        served = build_version(info, version, store, admission, converter, cbor=self._cbor, remote=remote.codec)
        if served.codec.conversion is not None:
            served = dataclasses.replace(served, notices=(*served.notices, SilenceNotice(self.converters.circuits, weakref.ref(info))))
        served = info.versions[version.name] = remote.with_copies(served)
        earlier = self._kept.take(info.definition, version.name)
        if earlier is not None:
            store.keep_renderings(earlier, served.codec)
        return served

    def _converter(self, definition: Definition) -> Converter:
        # Imported with the first custom resource: the schema modules take long to import.
        from apiext.resources.evaluation.compiled_version import converted_versions

        try:
            return self.converters.converter(definition.name, definition.head["spec"]["conversion"], converted_versions(definition))
        except ValueError as error:
            _LOG.error("conversion webhook cannot be used", definition=definition.name, error=str(error))
            raise errors.internal("error resolving resource") from error

    def encoding(self, definition: Definition) -> ReplicaEncoding:
        """Return how this server writes instances of a definition. Running requests may still write as before."""
        states = [info.definition for info in self._retired if info.definition.uid == definition.uid]
        oldest = min([*states, definition], key=lambda state: state.revision)
        return ReplicaEncoding(oldest.storage_version.name, oldest.revision)

    def on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Retire the serving info of a changed or deleted definition; implements catalog.Listener."""
        if old is None:
            return
        if new is None or new.uid != old.uid or new.is_terminating:
            for info in self._infos_of(old):
                info.ending.started = True
        if new is not None and new.phase != old.phase:
            self._refuse_watches(new)
        current = self._infos.get(old.uid)
        gone = new is None or new.uid != old.uid
        if new is not None and not gone and current is not None and current.fits(new):
            current.definition = new
            return
        # renderings by rules depend on the storage version, too
        by_webhook = current is not None and self.converters.known.of(old.name) is None
        self._kept.change(old, None if gone else new, current.versions if current is not None and by_webhook else {})
        if current is not None:
            del self._infos[old.uid]
            self._retire(current, gone=gone)

    def on_rules_change(self, name: str | None) -> None:
        """Retire the serving info of a definition whose conversion rules have changed; implements known.Changed."""
        for info in [info for info in self._infos.values() if name is None or info.definition.name == name]:
            self._kept.change(info.definition, None, {})
            del self._infos[info.definition.uid]
            self._retire(info)

    def _refuse_watches(self, definition: Definition) -> None:
        """End the watches of a mirror that enters phase LEAVING, and refuse new ones. In other phases, accept them."""
        error = expired() if definition.phase == LEAVING else None
        for info in self._infos_of(definition):
            info.watches.refuse(error)

    def _infos_of(self, definition: Definition) -> list[ServingInfo]:
        """Return the current serving info of a definition, and retired ones with running requests."""
        return [info for info in (*self._infos.values(), *self._retired) if info.definition.uid == definition.uid]

    def _retire(self, info: ServingInfo, *, gone: bool = False) -> None:
        """Tear a serving info down once its requests have finished."""
        if not info.busy:
            self._tear_down(info, gone=gone)
            return
        self._retired.add(info)
        task = asyncio.get_running_loop().create_task(self._retire_later(info, gone=gone))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _retire_later(self, info: ServingInfo, *, gone: bool) -> None:
        await info.drained(DRAIN_TIMEOUT)
        self._retired.discard(info)
        self._tear_down(info, gone=gone)

    def _tear_down(self, info: ServingInfo, *, gone: bool) -> None:
        info.watches.close()
        resource = info.definition.resource
        if gone and not any(other.definition.resource == resource for other in self._infos.values()):
            self.stores.drop(resource)

    async def close(self) -> None:
        """End all watches, forget all serving infos, and close the connections to webhooks."""
        self.watches.close()
        await end_tasks(*self._tasks)
        self._infos.clear()
        await self.converters.close()
