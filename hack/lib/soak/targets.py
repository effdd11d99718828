"""The servers under attack: apiext alone or behind kube-apiserver, on SQLite or etcd."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.lib.servers.aggregated_cluster import SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.soak import fleets
from hack.lib.soak.access import Access
from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import CRDS, KEPT, NAMESPACE, NAMESPACES, definition, ordinary
from hack.lib.waiting import until


@dataclass(frozen=True)
class Target:
    """A running server, the access of ordinary clients, and the credential of a front proxy."""

    server: ApiextServer
    front: Access
    direct: Access
    proxy: Access

    @property
    def has_host(self) -> bool:
        """Report whether ordinary clients reach the server through kube-apiserver."""
        return self.front is not self.direct

    def attack(self, *, reduced: bool = False) -> Attack:
        """Return a new attacking client."""
        return Attack(self.front, self.direct, self.proxy, reduced=reduced)

    def fill(self, objects: int) -> None:
        """Create the definition and the permanent objects.

        Raises:
            AssertionError: The server does not serve them.
        """
        client = self.attack()
        for path, obj in ((NAMESPACES, NAMESPACE), (CRDS, definition())):
            created = client.ask("POST", path, obj)
            assert created in {http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT}, client.answers
        until(lambda: client.ask("POST", f"{KEPT}?dryRun=All", ordinary(0)) == http.HTTPStatus.CREATED)
        client.create(KEPT, [ordinary(number) for number in range(objects)])
        assert client.ask("GET", f"{KEPT}/kept-{objects - 1}") == http.HTTPStatus.OK, client.answers


@contextmanager
def alone(folder: Path, store: str) -> Iterator[Target]:
    """Start apiext on a store for the block."""
    proxies = Authority(folder / "proxies")
    flags = [f"--requestheader-client-ca-file={proxies.cert}", "--feature-gates=ShardedListAndWatch=true"]
    with fleets.alone(folder, store, flags=flags) as fleet:
        (server,), (direct,) = fleet.servers, fleet.direct
        yield Target(server, direct, direct, Access(server.port, server.ca, proxies.issue("proxy")))


@contextmanager
def aggregated(folder: Path, store: str) -> Iterator[Target]:
    """Start apiext on a store behind kube-apiserver for the block; the host proxies the group to it."""
    with AggregatedCluster(folder, selector=SELECTOR, controller_manager=False, embedded=store == "sqlite") as cluster:
        plane, server = cluster.plane, cluster.apiext
        cluster.adopt(definition())
        front = Access(plane.port, plane.ca, plane.admin)
        yield Target(server, front, Access(server.port, server.ca, plane.admin), Access(server.port, server.ca, plane.proxy_client))
