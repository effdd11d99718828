"""The place of a process in a server: the only one, or one of several workers behind a port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from apiext.api.endpoints.request import Handler
    from apiext.api.flowcontrol.controller import Controller
    from apiext.server.http.acceptor import ConnectionSource
    from apiext.server.http.server import HTTPServer
    from apiext.server.routes.healthz import HealthEndpoint
    from apiext.server.routes.metrics import Metrics


class MetricsSource(Protocol):
    """What /metrics shows."""

    async def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        ...

    async def reset(self) -> None:
        """Reset the statistics of finished requests."""
        ...


class WholeServer(Protocol):
    """Answers for all workers of a server, where a client must see one server."""

    def health(self, endpoints: Sequence[HealthEndpoint]) -> Sequence[HealthEndpoint]:
        """Return the health endpoints of the server from those of this worker."""
        ...

    def metrics(self, own: Metrics) -> MetricsSource:
        """Return the metrics of the server from those of this worker."""
        ...

    def flow_control_debug(self, controller: Controller) -> Handler:
        """Return the handler of the tables of priority and fairness."""
        ...


class SharedLog(NamedTuple):
    """Descriptors of files for the locks of a log that several processes write."""

    writing: int
    backups: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRole:
    """Where a process gets its connections and its orders from."""

    connections: ConnectionSource
    url: str
    """URL of the server for clients on this machine."""
    name: str
    """The URL; of a worker, with its number. Different for all servers on a store and their workers."""
    stopping: asyncio.Event
    """Set when the server shall stop."""
    hurry: Callable[[], asyncio.Event]
    """Called after `stopping`; returns an event that is set when the process shall end at once."""
    serving: Callable[[HTTPServer], None] = lambda _http: None
    """Called with the HTTP server before the first connection."""
    whole: WholeServer | None = None
    """None for the only process."""
    shared_log: SharedLog | None = None
    """For the audit log of several workers."""
