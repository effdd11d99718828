"""Servers to restart: one, several on one etcd, or several behind kube-apiserver."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.lib.servers.aggregated_cluster import SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.balanced import Balanced
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.etcd import Etcd
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.collection import definition


@dataclass(frozen=True)
class Fleet:
    """Running servers on one store: the access of clients, the single servers, and the function that replaces one."""

    servers: Sequence[ApiextServer]
    front: Access | Replicas
    direct: Sequence[Access]
    replace: Callable[[ApiextServer], None] = ApiextServer.restart

    @property
    def has_host(self) -> bool:
        """Report whether clients reach the servers through kube-apiserver."""
        return isinstance(self.front, Access)


@contextmanager
def alone(folder: Path, store: str, *, durable: bool = True) -> Iterator[Fleet]:
    """Run one server on SQLite, or two on one etcd, for the block."""
    with ExitStack() as stack:
        if store == "sqlite":
            servers = [stack.enter_context(ApiextServer(folder))]
        else:
            etcd = stack.enter_context(Etcd(folder / "etcd", durable=durable))
            servers = [stack.enter_context(ApiextServer(folder / name, etcd_url=etcd.url)) for name in ("first", "second")]
        direct = [Access(one.port, one.ca, KeyPair(one.client_cert, one.client_key)) for one in servers]
        yield Fleet(servers, Replicas(direct), direct)


@contextmanager
def aggregated(folder: Path, _store: str) -> Iterator[Fleet]:
    """Run two servers on one etcd behind kube-apiserver, which reaches them through a load balancer, for the block."""
    with ExitStack() as stack:
        delay = ["--shutdown-delay-duration=5s"]
        cluster = AggregatedCluster(
            folder, selector=SELECTOR, controller_manager=False, operator=False, replicas=2, durable=True, serve_args=delay
        )
        stack.enter_context(cluster)
        plane, servers = cluster.plane, cluster.servers
        for server in servers:
            stack.callback(server.kill)  # no client needs the delay
        balanced = Balanced(servers)
        balancer = stack.enter_context(balanced.balancer)
        balancer.wait(*servers)
        stack.enter_context(cluster.another_operator("operator", f"--service-port={balancer.port}", f"--server={balancer.url}"))
        cluster.adopt(definition())
        direct = [Access(one.port, one.ca, plane.admin) for one in servers]
        yield Fleet(servers, Access(plane.port, plane.ca, plane.admin), direct, balanced.roll)
