"""Start, run and shutdown of the operator."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final

import kopf

from apiext.base.meta import host_annotations
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiClient, ApiError, host_endpoint
from apiext.operator.ca_bundle import CABundleFile, CABundleSource
from apiext.operator.checks.sequence import Diagnosis
from apiext.operator.group_state import condition_of
from apiext.operator.host_watch import HostWatch
from apiext.operator.leader_lease import NAME, LeaderElector, lead_without_election
from apiext.operator.leader_session import LeaderSession
from apiext.operator.options import OperatorOptions
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.serving_certificate.secret import ServingSecret, certificate_hosts
from apiext.operator.statistics import OperatorStatistics, OperatorStatus
from apiext.operator.watched_state import WatchedState

_LONGEST_RETRY_SECONDS: Final = 15.0
"""Longest pause between attempts to reach the host at the start."""

StatusEndpoints = Callable[[OperatorStatus], AbstractAsyncContextManager[str]]
"""Serves the status of an operator while its context is open; the context is the URL."""


class OperatorStartError(Exception):
    """The operator cannot start; the message gives the reason."""


async def operate(options: OperatorOptions, *, started: Callable[[dict[str, str]], None], endpoints: StatusEndpoints | None = None) -> None:
    """Operate until SIGTERM or SIGINT. Call `started` with the main settings when the host has answered.

    `endpoints` serve the status as long as the operator runs. What they raise at their start passes through.

    Raises:
        OperatorStartError: the credentials for the host cannot be read.
    """
    try:
        endpoint = host_endpoint(options)
    except KubeconfigError as error:
        raise OperatorStartError(f"invalid credentials for the host: {error}") from error
    stopped = asyncio.Event()

    def take_signals() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)

    operator = OperatorProcess(options, ApiClient(endpoint), started=started, take_signals=take_signals)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(operator.close)
        if endpoints is not None:
            operator.endpoints = await stack.enter_async_context(endpoints(operator))
        await _run_until(stopped, operator, take_signals)


async def _run_until(stopped: asyncio.Event, operator: OperatorProcess, take_signals: Callable[[], None]) -> None:
    take_signals()
    running, stopping = asyncio.create_task(operator.run()), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(running, stopping)
    if not running.cancelled():
        running.result()


class OperatorProcess:
    """The parts of an operator's process; implements OperatorStatus."""

    def __init__(
        self,
        options: OperatorOptions,
        host: ApiClient,
        *,
        started: Callable[[dict[str, str]], None] = lambda _: None,
        take_signals: Callable[[], None] = lambda: None,
    ) -> None:
        self._options = options
        self._host = host
        self._started: Callable[[dict[str, str]], None] | None = started
        self._identity = f"{socket.gethostname()}_{secrets.token_hex(8)}"
        self.statistics = OperatorStatistics()
        self.endpoints = ""
        """URL of the status endpoints, empty without them."""
        self._recorder = EventRecorder(host, instance=self._identity, on_event=self.statistics.event)
        self._diagnosis = Diagnosis(options)
        self.state = WatchedState(options.selector, self._on_change, str(options.service))
        """What the host has, as it is watched."""
        self._watch = HostWatch(lambda: host_endpoint(options), self.state, self.reach_host, take_signals)
        self._session: LeaderSession | None = None
        self._elector: LeaderElector | None = None

    @property
    def is_synced(self) -> bool:
        """See OperatorStatus.is_synced."""
        return self._watch.synced.is_set()

    @property
    def knows_leader(self) -> bool:
        """See OperatorStatus.knows_leader."""
        return not self._options.leader_elect or (self._elector is not None and self._elector.has_read_lease)

    @property
    def is_leader(self) -> bool:
        """See OperatorStatus.is_leader."""
        return self._session is not None

    def condition_reasons(self) -> dict[str, str]:
        """See OperatorStatus.condition_reasons."""
        conditions = ((crd["metadata"]["name"], condition_of(crd, host_annotations.CONDITION)) for crd in self.state.crds.all())
        return {name: str(condition.get("reason") or "") for name, condition in conditions if condition}

    async def run(self) -> None:
        """Watch the host, and run a leader session whenever this operator is the leader, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch.run())
            tasks.create_task(self._lead())

    async def close(self) -> None:
        """Close the connections."""
        await self._diagnosis.close()
        await self._host.close()

    async def reach_host(self, *, retry: int, **_: Any) -> None:
        """Check that this operator can read definitions and APIServices of the host. `retry` counts failed attempts.

        Raises:
            kopf.TemporaryError: it cannot; kopf calls again.
        """
        try:
            for path in (CRDS, API_SERVICES):
                await self._host.get(f"{path}?limit=1")
        except ApiError as error:
            problem = "the operator's user lacks a right on the host" if error.code == 403 else "the host cannot be reached"
            raise kopf.TemporaryError(f"{problem}: {error}", delay=min(2.0**retry, _LONGEST_RETRY_SECONDS)) from error
        if self._started is not None:
            started, self._started = self._started, None
            started(self._facts())

    async def _lead(self) -> None:
        await self._watch.synced.wait()
        options = self._options
        if options.leader_elect:
            self._elector = LeaderElector(
                self._host,
                namespace=options.namespace,
                identity=self._identity,
                timing=options.timing,
                service=str(options.service),
            )
            await self._elector.run(self._run_session)
        await lead_without_election(self._run_session)

    async def _run_session(self) -> None:
        source = self._ca_bundle_source()
        self._session = LeaderSession(
            self._options, self._host, source, self._recorder, self._diagnosis, self.state, self.statistics, self._watch.restart
        )
        try:
            with self.statistics.session():
                await self._session.run()
        finally:
            self._session = None

    def _on_change(self, group: str) -> None:
        if self._session is not None:
            self._session.on_change(group)

    def _ca_bundle_source(self) -> CABundleSource:
        options = self._options
        if options.serving_secret is not None:
            hosts = certificate_hosts(options.service, options.server)
            return ServingSecret(self._host, options.serving_secret, hosts=hosts, manage=options.manage_serving_secret)
        return CABundleFile(options.ca_file) if options.ca_file else CABundleSource()

    def _facts(self) -> dict[str, str]:
        options = self._options
        return {
            "host": self._host.url,
            "apiext": options.server,
            "service": f"{options.service}, port {options.port}",
            "definitions": options.selector.text or "all of the host",
            "lease": f"{options.namespace}/{NAME}" if options.leader_elect else "none: this operator always leads",
            **({"endpoints": self.endpoints} if self.endpoints else {}),
        }
