"""Start, run and shutdown of the webhook."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError
from apiext.base.webhook.reflector import Reflector
from apiext.operator.api_clients import CRDS, ApiClient, ApiError, endpoint_of
from apiext.operator.ca_bundle import CABundleFile, CABundleSource
from apiext.operator.conversionserver.cluster_objects import (
    CRD_OF_XRDS,
    XRDS,
    ClusterDefinitions,
    ClusterObjects,
    conversion_summary,
    crd_summary,
    xrd_summary,
)
from apiext.operator.conversionserver.cluster_writer import CONVERSIONS, ClusterWriter, ConversionStatusWriter
from apiext.operator.conversionserver.conversions import Conversions, compile_conversion
from apiext.operator.conversionserver.installation import COMPONENT, Installation
from apiext.operator.conversionserver.router import ConversionRouter
from apiext.operator.conversionserver.serving_tls import tls_of_files, tls_of_secret
from apiext.operator.leader_lease import LeaderElector, lead_without_election
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.serving_certificate.secret import ServingSecret
from apiext.resources.conversion.metrics import ConversionStats
from apiext.resources.conversion.rules.model import PLURAL
from apiext.resources.definitions.composite_definition import crd_names
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.server import HTTPServer, listen, url_of
from apiext.server.loop_errors import ignore_closed_connections
from apiext.server.process_resources import raise_open_files_limit
from apiext.server.shutdown import finish_requests
from apiext.server.start_error import StartError
from apiext.server.stop_signal import stop_signal

if TYPE_CHECKING:
    from apiext.operator.conversionserver.options import ConvertOptions
    from apiext.server.tls.dynamic_tls import DynamicTLS

_LOG: Final = get_logger(__name__)
_FOLLOW_RETRY_SECONDS: Final = 4.0
"""Longest pause between attempts to follow the cluster; short, since the CRD of Conversion objects may be applied after the start."""
_REQUEST_SECONDS: Final = 30.0
"""Longest time for the requests under way at the end; kube-apiserver's timeout for a review."""
_LINGER_SECONDS: Final = 2.0
"""Seconds at the end in which a client may send a last request on an idle connection, whose answer closes it."""


async def serve_conversions(options: ConvertOptions, *, started: Callable[[dict[str, str]], None]) -> None:
    """Serve until SIGTERM or SIGINT. Call `started` with the main settings once the port answers.

    Raises:
        StartError: the server cannot start.
    """
    stopping = stop_signal()
    ignore_closed_connections()
    raise_open_files_limit()
    async with AsyncExitStack() as stack:
        listener = listen(options.bind_address, options.port)
        stack.callback(listener.close)
        server = _ConversionServer(options, _host(options), stack)
        running, waiting = asyncio.create_task(server.run(listener, started)), asyncio.create_task(stopping.wait())
        stack.push_async_callback(end_tasks, running, waiting)
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        _LOG.info("server shutting down")
        await server.shut_down(stop_signal())


def _host(options: ConvertOptions) -> ApiClient:
    try:
        return ApiClient(endpoint_of(options.kubeconfig))
    except KubeconfigError as error:
        raise StartError(f"invalid credentials for the cluster: {error}") from error


class _ConversionServer:
    """One replica: follows the cluster, answers reviews, and writes to the cluster while it is the leader."""

    def __init__(self, options: ConvertOptions, host: ApiClient, stack: AsyncExitStack) -> None:
        self._options = options
        self._host = host
        self._stack = stack
        stack.push_async_callback(host.close)
        self._identity = f"{socket.gethostname()}_{secrets.token_hex(8)}"
        self._crds = ClusterObjects(self._on_change, crd_summary)
        self._definitions = ClusterDefinitions(self._crds, ClusterObjects(self._on_xrd_change, xrd_summary))
        self._has_xrds = asyncio.Event()
        """Set once the cluster has the CRD of XRDs."""
        self._objects = ClusterObjects(self._on_change, conversion_summary)
        self._conversions = Conversions(self._crds, self._objects, lambda name: host.find(f"{CRDS}/{name}"), compile_conversion)
        self._queue = WorkQueue(
            self._sync, log=_LOG, event="conversion rules not read, retrying", key_field="crd", retryable=(ApiError,), pauses=(0.2, 10.0)
        )
        self._writer: ClusterWriter | None = None
        """Set while this replica is the leader."""
        self._http: HTTPServer | None = None
        self._acceptor: Acceptor | None = None
        self._router: ConversionRouter | None = None

    async def run(self, listener: socket.socket, started: Callable[[dict[str, str]], None]) -> None:
        """Serve until cancelled. A failure of a part ends all.

        Raises:
            StartError: the files of the certificate cannot be used.
        """
        options = self._options
        tls = None if options.certificate is None else tls_of_files(options.certificate, options.min_tls_version, self._stack)
        async with asyncio.TaskGroup() as tasks:
            for collection, objects in ((CRDS, self._crds), (CONVERSIONS, self._objects)):
                tasks.create_task(self._follow(collection, objects))
            tasks.create_task(self._follow_xrds())
            tasks.create_task(self._queue.run())
            tasks.create_task(self._lead())
            if tls is None and options.secret is not None:
                tls = await tls_of_secret(self._host, options.secret, options.min_tls_version, self._stack)
            if tls is not None:
                self._listen(listener, tls)
            started({"address": url_of(listener), "webhook": str(options.target), "cluster": self._host.url})

    async def _follow(self, collection: str, objects: ClusterObjects) -> None:
        await Reflector(self._host.client, collection, objects, reduce=objects.reduce, max_pause=_FOLLOW_RETRY_SECONDS).run()

    async def _follow_xrds(self) -> None:
        await self._has_xrds.wait()
        await self._follow(XRDS, self._definitions.xrds)

    def _listen(self, listener: socket.socket, tls: DynamicTLS) -> None:
        followed = [("customresourcedefinitions", self._crds), (PLURAL, self._objects)]
        self._router = ConversionRouter(self._conversions, followed, ConversionStats(), tls)
        self._http = HTTPServer(self._router, tls)
        self._acceptor = Acceptor(listener, self._http, tls.context)

    async def shut_down(self, hurry: asyncio.Event) -> None:
        """Fail readyz for the shutdown delay, then finish the requests under way. Return at once if `hurry` is set."""
        if self._http is None or self._acceptor is None or self._router is None:
            return
        self._router.shutting_down = True
        self._http.drain()
        finishing = asyncio.create_task(self._finish(self._http, self._acceptor))
        hurrying = asyncio.create_task(hurry.wait())
        await asyncio.wait({finishing, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        await end_tasks(finishing, hurrying)

    async def _finish(self, http: HTTPServer, acceptor: Acceptor) -> None:
        delay = self._options.shutdown_delay
        await asyncio.sleep(delay)
        acceptor.close()
        await finish_requests(http, linger=min(delay, _LINGER_SECONDS), timeout=_REQUEST_SECONDS)

    async def _lead(self) -> None:
        options = self._options
        if options.leader_elect:
            elector = LeaderElector(self._host, namespace=options.namespace, name=COMPONENT, identity=self._identity, timing=options.timing)
            await elector.run(self._run_session)
        await lead_without_election(self._run_session)

    async def _run_session(self) -> None:
        options = self._options
        installation = Installation(
            self._host,
            options.target,
            self._definitions,
            self._conversions,
            source=self._ca_bundle_source(),
            recorder=EventRecorder(self._host, instance=self._identity, component=COMPONENT),
            needs_bundle=bool(options.secret or options.ca_file),
        )
        statuses = ConversionStatusWriter(self._host, options.target, self._definitions, self._conversions)
        self._writer = ClusterWriter(installation, statuses, self._objects)
        try:
            await self._writer.run()
        finally:
            self._writer = None

    def _ca_bundle_source(self) -> CABundleSource:
        options = self._options
        if options.secret is not None:
            return ServingSecret(self._host, options.secret, hosts=options.target.hosts(), manage=options.manage_secret)
        return CABundleFile(options.ca_file) if options.ca_file else CABundleSource()

    def _on_change(self, name: str) -> None:
        if name == CRD_OF_XRDS:
            self._has_xrds.set()
        self._queue.add(name)

    def _on_xrd_change(self, name: str) -> None:
        xrd = self._definitions.xrds.get(name)
        for crd in crd_names(xrd) if xrd is not None else ():
            self._queue.add(crd)

    async def _sync(self, name: str) -> None:
        """Compile the rules of a CRD, then check what the leader writes about it. Raises ApiError."""
        await self._conversions.sync(name)
        if self._writer is not None:
            self._writer.on_change(name)
