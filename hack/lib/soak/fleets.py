"""Servers to restart: one, several on one etcd, or several behind kube-apiserver."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.lib.servers.aggregated_cluster import SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.balanced import Balanced
from hack.lib.servers.etcd import Etcd
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.collection import definition


@dataclass(frozen=True)
class Fleet:
    """Running servers on one store: the access of clients, the single servers, their etcd if any, and the function that replaces one."""

    servers: Sequence[ApiextServer]
    front: Access | Replicas
    direct: Sequence[Access]
    etcds: Sequence[Etcd] = ()
    replace: Callable[[ApiextServer], None] = ApiextServer.restart

    @property
    def has_host(self) -> bool:
        """Report whether clients reach the servers through kube-apiserver."""
        return isinstance(self.front, Access)


@contextmanager
def alone(folder: Path, store: str, *, replicas: int = 1, durable: bool = True, flags: Sequence[str] = ()) -> Iterator[Fleet]:
    """Run one server on SQLite, or `replicas` on one etcd, for the block. Without `durable` the etcd does not wait for the disk."""
    with ExitStack() as stack:
        etcds = [stack.enter_context(Etcd(folder / "etcd", durable=durable))] if store == "etcd" else []
        url = etcds[0].url if etcds else None
        folders = [folder / f"apiext-{number}" for number in range(replicas if etcds else 1)]
        servers = [stack.enter_context(ApiextServer(one, etcd_url=url, extra_args=flags)) for one in folders]
        direct = [Access.of(server) for server in servers]
        yield Fleet(servers, Replicas(direct), direct, etcds)


@contextmanager
def aggregated(folder: Path) -> Iterator[Fleet]:
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
        yield Fleet(servers, Access(plane.port, plane.ca, plane.admin), direct, [cluster.etcd], balanced.roll)
