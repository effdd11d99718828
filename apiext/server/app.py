"""Composition of a running server, from the storage backend to the outermost filter."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import STORAGEMIGRATION_V1
from apiext.base.meta.errors import StatusError
from apiext.base.workers.pool import WorkerPool
from apiext.server.api import API, open_api
from apiext.server.composition.access import open_access
from apiext.server.composition.audit import audit_collectors, open_audit
from apiext.server.composition.encryption import NO_ENCRYPTION, EncryptionParts, open_encryption_parts
from apiext.server.composition.flow_control import open_flow_control
from apiext.server.composition.storage_backend import describe_storage, encryption_of, open_backend
from apiext.server.composition.store_alarms import follow_alarms
from apiext.server.handler_chain import ChainParts, build_chain
from apiext.server.observability.tracing import open_tracing
from apiext.server.options.feature_gates import CBOR_GATE, SHARDS_GATE
from apiext.server.preparation import REHEARSAL, RequestPreparation
from apiext.server.routes.admission_metrics import AdmissionMetrics
from apiext.server.routes.conversion_metrics import ConversionMetrics
from apiext.server.routes.definition_metrics import DefinitionMetrics
from apiext.server.routes.flowcontrol_debug import FlowControlDebug
from apiext.server.routes.flowcontrol_metrics import FlowControlMetrics
from apiext.server.routes.garbage_collection_metrics import GarbageCollectionMetrics
from apiext.server.routes.healthz import PING, CachedProbe, HealthCheck, HealthEndpoint, UnhealthyError
from apiext.server.routes.metrics import Metrics
from apiext.server.routes.router import Router
from apiext.server.routes.storage_metrics import StorageMetrics
from apiext.server.start_error import StartError
from apiext.storage.backend import BackendError, UnavailableError
from apiext.storage.backends.measured_backend import MeasuredBackend, TimedBackend
from apiext.storage.errors import StorageError
from apiext.storage.factory import StoreFactory, TimedStores
from apiext.storage.replicas.host_records import HostRecords
from apiext.storage.store_history import StoreHistory
from apiext.storage.stored_object import NOT_DECRYPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from prometheus_client.registry import Collector

    from apiext.api.endpoints.request import Handler
    from apiext.resources.definitions.sources.directory import DirectorySource
    from apiext.server.host.clients import HostClients
    from apiext.server.host.conversions import HostConversions
    from apiext.server.host.delegated_authentication import Delegation
    from apiext.server.host_definitions import HostDefinitions
    from apiext.server.options.options import ServerOptions, StorageOptions
    from apiext.server.routes.process_role import ProcessRole, WholeServer
    from apiext.server.tls.credentials import ServerCredentials
    from apiext.storage.backend import Backend
    from apiext.storage.value.encryption import Encryption

_MAX_PROBLEM: Final = 160
"""Characters of a definition's problem in the startup message; the log shows the whole problem."""
_NO_ETCD: Final = "error getting data from etcd: context deadline exceeded"
_HEALTH_TTL: Final = 1.0
"""Seconds that the health of the store is cached."""
_SERVING_TIMEOUT: Final = 2.0
"""Seconds to wait until new definitions are served, which usually takes milliseconds."""


class App:
    """A composed server. `handler` answers all requests."""

    def __init__(
        self,
        options: ServerOptions,
        api: API,
        backend: MeasuredBackend,
        parts: ChainParts,
        *,
        certificates: Callable[[], Mapping[str, float]],
        encryption: EncryptionParts = NO_ENCRYPTION,
        readiness: Sequence[HealthCheck] = (),
        whole: WholeServer | None = None,
    ) -> None:
        """Compose the server. `certificates` returns the expirations of the serving certificates by name, `readiness` are more checks.

        `whole` answers for all workers; None for the only process.
        """
        self.shutting_down = False
        """Whether readyz fails because the server shuts down."""
        enabled = options.feature_gates.enabled
        plugins = api.admission.chain.dynamic
        import_plugins = plugins.import_used if plugins is not None else bool
        self.preparation = RequestPreparation(api.workers, import_plugins, cbor=enabled(CBOR_GATE), shards=enabled(SHARDS_GATE))
        """To run once the server is ready."""
        self._options = options
        self._api = api
        self._backend = backend
        self._files: DirectorySource | None = None
        self._host: HostDefinitions | None = None
        self._conversions: HostConversions | None = None
        self._loaded = options.crd_dir is None
        self._encryption = encryption
        collectors = [*_collectors(api, backend, shards=enabled(SHARDS_GATE)), *encryption.collectors, *audit_collectors(parts.auditing)]
        debug: dict[str, Handler] = {}
        if parts.flow_control is not None:
            collectors.append(FlowControlMetrics(parts.flow_control.controller))
            controller = parts.flow_control.controller
            debug["debug"] = FlowControlDebug(controller) if whole is None else whole.flow_control_debug(controller)
        metrics = _metrics(api, parts, certificates, collectors)
        health = self._health(readiness)
        router = Router(
            resources=self.preparation.before_writes(api.resources),
            discovery=api.discovery,
            others={**api.others, **debug},
            health=health if whole is None else whole.health(health),
            metrics=metrics if whole is None else whole.metrics(metrics),
            api_paths=api.paths,
            flags=options.flags,
            has_core=api.has_core,
        )
        self.handler: Handler = build_chain(router, options, parts)

    async def load(self, clients: HostClients, stack: AsyncExitStack) -> None:
        """Load the definitions of `--crd-dir` and of the host, and watch them until `stack` closes. The server is not ready before.

        Raises:
            StartError: the directory cannot be read, or the host's address or credentials are invalid.
        """
        if self._options.crd_dir is not None:
            await self._load_files(self._options.crd_dir, stack)
        if self._options.crd_selector is not None and self._options.host is not None:
            from apiext.server.host.conversions import follow_host_conversions
            from apiext.server.host_definitions import open_host

            client = clients.client(self._options.host)
            records = HostRecords(self._backend, self._options.storage.prefix)
            self._conversions = await follow_host_conversions(client, self._api.converters.known, records, stack)
            self._host = open_host(client, self._options.crd_selector, self._api, records, stack)
            await self._host.wait_until_read(timeout=_SERVING_TIMEOUT)
            await self._api.wait_until_served(self._host.source.names, timeout=_SERVING_TIMEOUT)

    async def _load_files(self, folder: Path, stack: AsyncExitStack) -> None:
        from apiext.resources.definitions.sources.conversion_files import ConversionFiles
        from apiext.resources.definitions.sources.directory import DirectorySource
        from apiext.server.definition_files import DefinitionFiles

        api = self._api
        migrates = STORAGEMIGRATION_V1 in api.builtins
        writer = DefinitionFiles(api.definitions.scopes[""], api.workers, api.catalog, api.stores.stored_versions, migrates=migrates)
        files = DirectorySource(folder, writer.apply, ConversionFiles(api.converters.known))
        try:
            await (files.start() if self._options.watches_crd_dir else files.load())
        except OSError as error:
            raise StartError(f"--crd-dir: {folder}: {error.strerror}") from error
        stack.push_async_callback(files.close)
        self._files = files
        await self._api.wait_until_served(files.names, timeout=_SERVING_TIMEOUT)
        self._loaded = True

    def describe(self) -> dict[str, str]:
        """Return the startup message about the store and the definitions, as rows."""
        served = sum(definition.is_established for definition in self._api.catalog.all())
        rows = {"store": describe_storage(self._options.storage), "CRDs": f"{served} served"}
        if self._files is not None:
            rows["CRDs"] += f"; {len(self._files.names)} read from {self._files.folder}"
        broken = self._files.problems if self._files is not None else []
        if self._host is not None:
            rows["CRDs"] += f"; {len(self._host.source.names)} selected on the host"
            if remarks := self._host.remarks():
                rows["host"] = remarks[0]
            broken = [*broken, *self._host.source.problems]
        return rows | {f"  broken {number}": textwrap.shorten(text, _MAX_PROBLEM) for number, text in enumerate(broken, 1)}

    def refuse_watches(self) -> None:
        """Answer later watches with 429."""
        self._api.watches.drain()

    async def end_watches(self, seconds: float) -> None:
        """End all watches gracefully, spread over so many seconds at most."""
        await self._api.watches.end(seconds)

    def _health(self, more: Sequence[HealthCheck]) -> list[HealthEndpoint]:
        store = "etcd" if self._options.storage.etcd else "sqlite"
        probe = CachedProbe(self._check_backend, _HEALTH_TTL)
        checks = [PING, HealthCheck(store, probe), *self._encryption.checks]
        informers = [HealthCheck("informer-sync", self._check_informers)] if self._options.host else []
        if (sources := self._api.admission.host) is not None:
            informers.append(HealthCheck("admission", self._check_admission, sources.remarks))
        if self._options.crd_selector is not None:
            informers.append(HealthCheck("host", self._check_host, lambda: self._host.remarks() if self._host is not None else ()))
        readiness = [HealthCheck("etcd-readiness", probe)] if store == "etcd" else [HealthCheck("sqlite-writes", self._check_writes)]
        files = HealthCheck("crd-dir", self._check_loaded, lambda: self._files.remarks if self._files is not None else ())
        ready = [*checks, *readiness, *informers, files, *more, HealthCheck("shutdown", self._check_shutdown)]
        return [HealthEndpoint("healthz", checks), HealthEndpoint("livez", checks), HealthEndpoint("readyz", ready)]

    async def _check_backend(self) -> None:
        try:
            await self._backend.healthy()
        except BackendError as error:
            # the reference retries until its timeout, and reports only the timeout
            in_etcd = self._options.storage.etcd and isinstance(error, UnavailableError)
            raise UnhealthyError(_NO_ETCD if in_etcd else str(error)) from error

    async def _check_writes(self) -> None:
        try:
            await self._backend.writable()
        except BackendError as error:
            raise UnhealthyError(f"writes fail: {error}") from error

    async def _check_informers(self) -> None:
        conversions = [self._conversions] if self._conversions is not None else []
        missing = [informer.type_name for informer in (*self._api.admission.informers, *conversions) if not informer.synced]
        if missing and not self._lacks_host:
            raise UnhealthyError(f"{len(missing)} informers not started yet: [{' '.join(missing)}]")

    @property
    def _lacks_host(self) -> bool:
        """Whether the server is ready although the host is unreachable: it serves reads, and refuses the writes that need the host."""
        return self._host is not None and self._host.is_dispensable

    async def _check_admission(self) -> None:
        if self._api.admission.host is not None and not self._lacks_host:
            self._api.admission.host.check()

    async def _check_host(self) -> None:
        if self._host is None:
            raise UnhealthyError("the host's definitions are not loaded")
        self._host.check()

    async def _check_loaded(self) -> None:
        if not self._loaded:
            raise UnhealthyError("definitions are being loaded")

    async def _check_shutdown(self) -> None:
        if self.shutting_down:
            raise UnhealthyError("process is shutting down")


def _follow_history(backend: MeasuredBackend, stores: StoreFactory, stack: AsyncExitStack) -> HealthCheck:
    """Go on with the store's data when it is replaced, until `stack` closes. Return a check that fails meanwhile."""
    history = StoreHistory(backend, stores.prefix, stores.feed)
    history.start()
    stack.push_async_callback(history.close)

    async def probe() -> None:
        if history.problem:
            raise UnhealthyError(f"{history.problem}: the objects are being read again")

    return HealthCheck("store-history", probe)


def _metrics(api: API, parts: ChainParts, certificates: Callable[[], Mapping[str, float]], more: Sequence[Collector]) -> Metrics:
    return Metrics(
        stats=parts.stats,
        requests=parts.current_requests,
        objects=api.count_objects,
        stored=api.count_stored,
        workers=api.workers,
        certificates=certificates,
        more=more,
    )


def _collectors(api: API, backend: MeasuredBackend, *, shards: bool) -> list[Collector]:
    """Return the metrics of the parts of the server, besides those of requests."""
    collectors: list[Collector] = [
        ConversionMetrics(api.converters),
        AdmissionMetrics(api.admission.stats),
        StorageMetrics(backend, lambda: api.stores.cache_revision, api.stores.shard_stats if shards else None),
        DefinitionMetrics(api.catalog, api.migrations),
    ]
    if api.garbage_collection is not None:
        collectors.append(GarbageCollectionMetrics(api.garbage_collection))
    if api.admission.manifests is not None:
        from apiext.server.routes.manifest_metrics import ManifestMetrics

        collectors.append(ManifestMetrics(api.admission.manifests))
    return collectors


def _stores(
    backend: Backend, options: StorageOptions, encryption: Encryption | None, *, audited: bool
) -> tuple[MeasuredBackend, StoreFactory]:
    """Return the backend with its measurement, and the stores on it."""
    measured, make = (TimedBackend, TimedStores) if audited else (MeasuredBackend, StoreFactory)
    found = measured(backend, options.prefix)
    return found, make(
        found,
        prefix=options.prefix,
        watch_cache=options.watch_cache,
        compaction_interval=options.compaction_interval,
        encryption=encryption,
    )


async def open_app(
    options: ServerOptions,
    role: ProcessRole,
    *,
    clients: HostClients,
    credentials: ServerCredentials,
    delegation: Delegation | None,
    stack: AsyncExitStack,
) -> App:
    """Open the backend and start the parts of the server; `stack` stops and closes them.

    Raises:
        StartError: the backend does not answer, the kubeconfig for authorization, the tracing configuration or the audit policy is
            invalid, the client authentication is found neither in the cluster nor in the store, or the host authorizes with conditions.
    """
    auditing, storage = await open_audit(options.audit, stack, role.shared_log), options.storage
    backend = await open_backend(storage, follows_host=options.crd_selector is not None)
    stack.push_async_callback(backend.close)
    encryption = encryption_of(backend)
    workers = WorkerPool(preload=REHEARSAL)
    stack.push_async_callback(workers.close)
    measured, stores = _stores(backend, storage, encryption, audited=auditing is not None and not auditing.records_nothing)
    access = open_access(options, clients, credentials, delegation)
    await access.follow_conditions(options, clients, stack)
    try:
        if delegation is not None and options.crd_selector is not None:
            await delegation.lookup.recall(HostRecords(backend, storage.prefix))
        await stores.start()
        stack.push_async_callback(stores.close)
        history = _follow_history(measured, stores, stack)
        api = await open_api(stores, options, role, clients, workers, access, stack)
    except (BackendError, StorageError, StatusError) as error:
        raise _unreadable(error, storage) from error
    parts = ChainParts(
        tokens=credentials.tokens,
        flow_control=open_flow_control(options, stores, clients, stack),
        delegation=delegation,
        modes=access.modes,
        authorized_by_host=access.authorized_by_host(api.catalog.has_group),
        reviewer=access.reviewer(),
        tracer=open_tracing(options.tracing_config_file, stack),
        auditing=auditing,
    )
    return App(
        *(options, api, measured, parts),
        certificates=credentials.expirations,
        encryption=open_encryption_parts(storage, encryption, role.url, stack),
        readiness=[*access.readiness, history, *([follow_alarms(measured, stack)] if storage.etcd else [])],
        whole=role.whole,
    )


def _unreadable(error: Exception, storage: StorageOptions) -> StartError:
    hint = ""
    if isinstance(error, StatusError) and error.reason == "StorageReadError":
        lacks_keys = storage.encryption_file is None and NOT_DECRYPTED in str(error)
        hint = "; its objects are encrypted: --encryption-provider-config names their keys" if lacks_keys else "; see apiext rescue"
    return StartError(f"cannot read the store: {error}{hint}")
