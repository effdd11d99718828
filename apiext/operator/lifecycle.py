"""The operator from its start to its end."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from typing import TYPE_CHECKING, Final

from apiext.meta.backoff import Backoff
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.operator.api_clients import API_SERVICES, CRDS, Api, ApiError
from apiext.operator.ca_bundle import AuthorityFile, SystemAuthorities
from apiext.operator.connection_settings import of_host
from apiext.operator.host_watch import HostWatch
from apiext.operator.leader_election.leader_session import Term
from apiext.operator.leader_election.lease import NAME, Elector
from apiext.operator.reporting.diagnosis import Diagnosis
from apiext.operator.reporting.event_recorder import Recorder
from apiext.operator.serving_certificate.factory import open_serving_secret
from apiext.webhook.kubeconfig import KubeconfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.api_clients import Json
    from apiext.operator.ca_bundle import Authorities
    from apiext.operator.options import Options

_LOG: Final = get_logger(__name__)
_FIRST, _LONGEST = 1.0, 15.0
"""Seconds between attempts to reach the host at the start."""
_AGAIN: Final = 2.0


class StartError(Exception):
    """The operator cannot start; the message says why."""


async def operate(options: Options, *, started: Callable[[dict[str, str]], None]) -> None:
    """Operate until SIGTERM or SIGINT; `started` is told once the host has answered.

    Raises:
        StartError: there are no credentials for the host that can be used.
    """
    try:
        endpoint = of_host(options)
    except KubeconfigError as error:
        raise StartError(f"the host cannot be reached: {error}") from error
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    operator = _Operator(options, Api(endpoint))
    running, stopping = asyncio.create_task(operator.run(started)), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(running, stopping)
        await operator.close()
    if not running.cancelled():
        running.result()


class _Operator:
    def __init__(self, options: Options, host: Api) -> None:
        self._options = options
        self._host = host
        self._identity = f"{socket.gethostname()}_{secrets.token_hex(8)}"
        self._recorder = Recorder(host, instance=self._identity)
        self._diagnosis = Diagnosis(options)
        self._term: Term | None = None

    async def run(self, started: Callable[[dict[str, str]], None]) -> None:
        """Act whenever it is this operator's turn, until it is cancelled."""
        await self._reach_host()
        started(self._facts())
        watch = HostWatch(lambda: of_host(self._options), self._told)
        watch.start()
        try:
            if self._options.leader_elect:
                namespace, timing = self._options.namespace, self._options.timing
                await Elector(self._host, namespace=namespace, identity=self._identity, timing=timing).run(self._act)
            while True:
                await self._act_alone()
                await asyncio.sleep(_AGAIN)
        finally:
            await watch.stop()

    async def close(self) -> None:
        """Close the connections."""
        await self._diagnosis.close()
        await self._host.close()

    async def _act(self) -> None:
        self._term = Term(self._options, self._host, self._authorities(), self._recorder, self._diagnosis)
        try:
            await self._term.run()
        finally:
            self._term = None

    async def _act_alone(self) -> None:
        try:
            await self._act()
        except Exception:  # noqa: BLE001 -- it has to go on, whatever it was
            _LOG.exception("acting failed")

    def _told(self, plural: str, happened: str | None, found: Json) -> None:
        if self._term is not None:
            self._term.told(plural, happened, found)

    def _authorities(self) -> Authorities:
        options = self._options
        if options.serving_secret is not None:
            secret, service = options.serving_secret, options.service
            return open_serving_secret(
                self._host,
                secret=(secret.namespace, secret.name),
                service=(service.namespace, service.name),
                server=options.server,
                manage=options.manage_serving_secret,
            )
        return AuthorityFile(options.ca_file) if options.ca_file else SystemAuthorities()

    async def _reach_host(self) -> None:
        """Return when the host lets this operator read what it is about."""
        backoff, told = Backoff(_FIRST, _LONGEST), ""
        while True:
            try:
                for path in (CRDS, API_SERVICES):
                    await self._host.get(f"{path}?limit=1")
                return
            except ApiError as error:
                if str(error) != told:
                    event = "the operator's user lacks a right on the host" if error.code == 403 else "the host cannot be reached"
                    _LOG.warning(f"{event}; it is tried again", error=str(error))
                told = str(error)
            await backoff.pause()

    def _facts(self) -> dict[str, str]:
        options = self._options
        return {
            "host": self._host.url,
            "apiext": options.server,
            "service": f"{options.service}, port {options.port}",
            "definitions": str(options.selector) or "all of the host",
            "lease": f"{options.namespace}/{NAME}" if options.leader_elect else "none: it acts alone",
        }
