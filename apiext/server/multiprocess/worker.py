"""The program of a worker process: a server that gets its connections and its orders from the supervisor."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.base.scheduling.tasks import SharedWork
from apiext.server.lifecycle import run_server
from apiext.server.multiprocess.hung_workers import Heartbeat
from apiext.server.multiprocess.siblings import Siblings
from apiext.server.multiprocess.whole_metrics import WholeMetrics
from apiext.server.routes.healthz import HealthCheck, HealthEndpoint, UnhealthyError
from apiext.server.routes.process_role import ProcessRole
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aiohttp import web

    from apiext.api.endpoints.request import Handler
    from apiext.api.flowcontrol.controller import Controller
    from apiext.server.http.server import HTTPServer
    from apiext.server.multiprocess.scoreboard import Scoreboard
    from apiext.server.multiprocess.siblings import SiblingAnswer
    from apiext.server.multiprocess.supervisor import SharedState
    from apiext.server.multiprocess.worker_slot import WorkerEnds
    from apiext.server.options.options import ServerOptions
    from apiext.server.routes.metrics import Metrics
    from apiext.server.routes.process_role import MetricsSource

_MAX_ERROR: Final = 4096
"""Characters of a reason that a message has room for."""

_MESSAGE_BYTES: Final = 16


ANSWER_SECONDS: Final = 2.0
"""Time for the checks of another worker. The probes of the manifests wait for 5 s."""
_QUESTION: Final = "health"


class WholeHealth:
    """Adds the checks of other workers: a client reaches any of them, so the server is ready when all are."""

    def __init__(self, siblings: Siblings) -> None:
        self._siblings = siblings
        self._own: dict[str, HealthEndpoint] = {}
        self._asking: SharedWork[list[SiblingAnswer]] = SharedWork()
        siblings.on_question(_QUESTION, self._answer)

    def endpoints(self, own: Sequence[HealthEndpoint]) -> list[HealthEndpoint]:
        """Return the endpoints of the server from those of this worker."""
        self._own = {endpoint.name: endpoint for endpoint in own}
        return [WholeHealthEndpoint(endpoint, self) for endpoint in own]

    @property
    def others(self) -> list[int]:
        """Return the numbers of the other workers."""
        return [index + 1 for index in range(self._siblings.workers) if index != self._siblings.index]

    async def ask(self, endpoint: str, excluded: Sequence[str]) -> dict[int, SiblingAnswer]:
        """Return the answers by worker. Requests at the same time share a question: anybody may send any number of them."""
        names = sorted({check.name for check in self._own[endpoint].checks}.intersection(excluded))
        arguments = {"endpoint": endpoint, "excluded": names}
        key = endpoint, *names
        answers = await self._asking.run(key, lambda: self._siblings.ask(_QUESTION, seconds=ANSWER_SECONDS, **arguments))
        return {answer.number: answer for answer in answers}

    async def _answer(self, arguments: dict[str, Any]) -> bytes:
        """Return the failed checks of this worker with their reasons."""
        return orjson.dumps(await self._own[arguments["endpoint"]].failures(arguments["excluded"]))


class WholeHealthEndpoint(HealthEndpoint):
    """A health endpoint with the checks of one worker, and those of the others as one check each."""

    def __init__(self, own: HealthEndpoint, whole: WholeHealth) -> None:
        self._own = own
        self._whole = whole
        super().__init__(own.name, [*own.checks, *_Question(own.name, whole, ()).checks()])

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the result as `HealthEndpoint` does. Excluded checks are excluded in all workers."""
        question = _Question(self.name, self._whole, request.query.getall("exclude", ()))
        return await HealthEndpoint(self.name, [*self._own.checks, *question.checks()])(request)


class _Question:
    """The question of one request to the other workers, asked once for all checks."""

    def __init__(self, endpoint: str, whole: WholeHealth, excluded: Sequence[str]) -> None:
        self._endpoint = endpoint
        self._whole = whole
        self._excluded = excluded
        self._answers: dict[int, SiblingAnswer] = {}

    def checks(self) -> list[HealthCheck]:
        """Return a check for each other worker."""
        return [HealthCheck(f"worker-{number}", partial(self._probe, number)) for number in self._whole.others]

    async def _probe(self, worker: int) -> None:
        """Pass if all checks of a worker pass.

        Raises:
            UnhealthyError: a check failed, the worker does not run, or it did not answer in time.
        """
        self._answers = self._answers or await self._whole.ask(self._endpoint, self._excluded)
        answer = self._answers[worker]
        if answer.data is None:
            raise UnhealthyError(f"worker {worker} does not answer" if answer.is_there else f"worker {worker} is not running")
        failed: dict[str, str] = orjson.loads(answer.data)
        if failed:
            raise UnhealthyError("; ".join(f"worker {worker}: {check}: {reason}" for check, reason in failed.items()))


class PassedConnections:
    """Implements ConnectionSource over a channel from the supervisor, and publishes how many connections the worker has."""

    def __init__(self, channel: socket.socket, scoreboard: Scoreboard, worker: int) -> None:
        self._channel = channel
        self._scoreboard = scoreboard
        self._worker = worker
        self._received = 0
        self._http: HTTPServer | None = None

    def serve(self, http: HTTPServer, *, workers: int) -> None:
        """Publish the connections of an HTTP server from now on. All workers share the limit of unauthenticated ones."""
        self._http = http
        http.unauthenticated.processes = workers
        http.on_change = http.unauthenticated.on_leave = self._publish

    def fileno(self) -> int:
        """See `ConnectionSource.fileno`."""
        return self._channel.fileno()

    def accept(self) -> tuple[socket.socket, None]:
        """Implement ConnectionSource.accept.

        Raises:
            OSError: the supervisor has ended.
        """
        data, descriptors, _flags, _address = socket.recv_fds(self._channel, _MESSAGE_BYTES, 1)
        if not data:
            raise OSError("the supervisor passes no more connections")
        self._received += 1
        if not descriptors:
            # the process has no room for another descriptor
            self._publish()
            raise OSError("too many open files")
        try:
            return socket.socket(fileno=descriptors[0]), None
        except OSError:
            os.close(descriptors[0])
            raise
        finally:
            # the HTTP server does not count it yet
            self._publish(arriving=1)

    def close(self) -> None:
        """See `ConnectionSource.close`."""
        self._channel.close()

    def _publish(self, *, arriving: int = 0) -> None:
        there = 0 if self._http is None else self._http.open_connections
        self._scoreboard.publish(self._worker, received=self._received, connections=there + arriving)


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """What a worker begins with."""

    index: int
    workers: int
    url: str
    ends: WorkerEnds
    shared: SharedState


class _Whole:
    """Implements WholeServer."""

    def __init__(self, siblings: Siblings, shared: SharedState) -> None:
        self._siblings = siblings
        self._shared = shared

    def health(self, endpoints: Sequence[HealthEndpoint]) -> Sequence[HealthEndpoint]:
        """See `WholeServer.health`."""
        return WholeHealth(self._siblings).endpoints(endpoints)

    def metrics(self, own: Metrics) -> MetricsSource:
        """See `WholeServer.metrics`."""
        return WholeMetrics(own, self._siblings, self._shared.ledger, self._shared.scoreboard)

    def flow_control_debug(self, controller: Controller) -> Handler:
        """See `WholeServer.flow_control_debug`."""
        # most servers are not asked for it
        from apiext.server.multiprocess.whole_flow_control import WholeFlowControl

        return WholeFlowControl(controller, self._siblings)


async def serve_as_worker(options: ServerOptions, start: WorkerStart, *, started: Callable[[], None]) -> int:
    """Serve until the supervisor says to stop, or has ended. Call `started` once the worker is ready. Return the exit code."""
    with ExitStack() as stack:
        siblings = Siblings(start.ends.control, start.index, start.workers)
        stack.callback(siblings.close)
        stack.callback(Heartbeat(start.shared.scoreboard, start.index).close)
        connections = PassedConnections(start.ends.connections, start.shared.scoreboard, start.index)
        role = ProcessRole(
            connections=connections,
            url=start.url,
            name=f"{start.url} (worker {start.index + 1})",
            stopping=siblings.stopping,
            hurry=lambda: siblings.hurry,
            serving=partial(connections.serve, workers=start.workers),
            whole=_Whole(siblings, start.shared),
            shared_log=start.shared.log,
        )

        def on_started(facts: dict[str, str]) -> None:
            started()
            siblings.tell_supervisor("ready", facts=facts)

        try:
            await run_server(options, role, started=on_started)
        except StartError as error:
            siblings.tell_supervisor("failed", error=str(error)[:_MAX_ERROR])
            return 1
    return 0
