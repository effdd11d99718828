"""Replicas of a server behind a load balancer."""

import signal
from collections.abc import Sequence
from contextlib import ExitStack

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.balancer import Balancer
from hack.lib.waiting import until


class Balanced:
    """Replicas behind a `balancer`; `roll` and `kill` act on one replica."""

    def __init__(self, servers: Sequence[ApiextServer]) -> None:
        self.servers = servers
        self.balancer = Balancer(servers)

    def start(self, stack: ExitStack) -> None:
        """Start all programs; `stack` stops them."""
        for server in self.servers:
            stack.enter_context(server)
            stack.callback(server.kill)  # no client needs the delay
        stack.enter_context(self.balancer)
        self.balancer.wait(*self.servers)

    def roll(self, server: ApiextServer) -> None:
        """Replace a replica by a new process."""
        server.process.signal(signal.SIGTERM)
        until(lambda: not server.process.running)
        server.start()
        self.balancer.wait(*self.servers)

    def kill(self, server: ApiextServer) -> None:
        """Kill a replica, and start it again when the balancer has removed it."""
        server.kill()
        self.balancer.wait(*(other for other in self.servers if other is not server))
        server.start()
        self.balancer.wait(*self.servers)
