"""The program of a worker process: a server that gets its connections and its orders from the supervisor."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.server.lifecycle import run_server
from apiext.server.multiprocess.hung_workers import Heartbeat
from apiext.server.multiprocess.siblings import Siblings
from apiext.server.multiprocess.whole_health import WholeHealth
from apiext.server.multiprocess.whole_metrics import WholeMetrics
from apiext.server.routes.process_role import ProcessRole
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.api.endpoints.request import Handler
    from apiext.api.flowcontrol.controller import Controller
    from apiext.server.http.server import HTTPServer
    from apiext.server.multiprocess.scoreboard import Scoreboard
    from apiext.server.multiprocess.supervisor import SharedState
    from apiext.server.multiprocess.worker_slot import WorkerEnds
    from apiext.server.options.options import ServerOptions
    from apiext.server.routes.healthz import HealthEndpoint
    from apiext.server.routes.metrics import Metrics
    from apiext.server.routes.process_role import MetricsSource

_MAX_ERROR: Final = 4096
"""Characters of a reason that a message has room for."""

_MESSAGE_BYTES: Final = 16


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
