"""The servers under the story: apiext alone, apiext behind kube-apiserver, and the reference."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.life.definition import NAME
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.process import Service
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.access import Access


@dataclass
class Deployment:
    """A running deployment: the servers for clients and the administrator, and the programs to kill."""

    access: Access
    admin: Caller
    webhook: WebhookServer
    victims: list[Service] = field(default_factory=list)
    mirror: Caller | None = None
    """apiext itself, if it serves a copy of the host's definition."""

    def follows(self, crd: dict[str, object]) -> bool:
        """Report whether apiext serves the spec of the host's definition; true without a host."""
        if self.mirror is None:
            return True
        code, found = self.mirror.ask("GET", f"{CRDS}/{NAME}")
        return code == 200 and found["spec"]["versions"] == crd["versions"] and found["spec"].get("conversion") == crd.get("conversion")


def _webhook(folder: Path) -> WebhookServer:
    return WebhookServer(folder, "hack.lib.life.webhook")


@contextmanager
def standalone(folder: Path, store: str) -> Iterator[Deployment]:
    """Start apiext on SQLite or etcd for the block."""
    etcd = Etcd(folder / "etcd", durable=False) if store == "etcd" else None
    with _webhook(folder) as webhook:
        if etcd:
            etcd.start()
        try:
            with ApiextServer(folder, etcd_url=etcd.url if etcd else None) as server:
                pair = KeyPair(server.client_cert, server.client_key)
                access, admin = Access(server.port, server.ca, pair), Caller(server.url, server.ca, pair)
                yield Deployment(access, admin, webhook, [server, webhook, *([etcd] if etcd else [])])
        finally:
            if etcd:
                etcd.stop()


@contextmanager
def adopted(folder: Path) -> Iterator[Deployment]:
    """Start a cluster whose controllers and operator run, with apiext behind it, for the block."""
    with _webhook(folder) as webhook, AggregatedCluster(folder, selector=SELECTOR) as cluster:
        plane = cluster.plane
        access = Access(plane.port, plane.ca, plane.admin)
        yield Deployment(access, cluster.host, webhook, [cluster.apiext, webhook, cluster.etcd], cluster.own())


@contextmanager
def reference(folder: Path) -> Iterator[Deployment]:
    """Start kube-apiserver with its controllers for the block; nothing is killed."""
    with _webhook(folder) as webhook, ControlPlane(folder, controller_manager=True, durable=False) as plane:
        yield Deployment(Access(plane.port, plane.ca, plane.admin), plane.client, webhook)


WAYS: Final[dict[str, Callable[[Path], AbstractContextManager[Deployment]]]] = {
    "sqlite": partial(standalone, store="sqlite"),
    "etcd": partial(standalone, store="etcd"),
    "adopted": adopted,
}
"""The ways in which apiext plays the life."""
