"""The servers under the story: apiext alone, apiext behind kube-apiserver, and the reference."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.life.definition import NAME
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.caller import Caller
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import Service
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak import fleets
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
    has_rules: bool = False
    """Whether the rules of a Conversion convert, not the webhook."""

    def follows(self, crd: dict[str, object]) -> bool:
        """Report whether apiext serves the spec of the host's definition; true without a host."""
        if self.mirror is None:
            return True
        code, found = self.mirror.ask("GET", f"{CRDS}/{NAME}")
        return code == 200 and found["spec"]["versions"] == crd["versions"] and found["spec"].get("conversion") == crd.get("conversion")


def _webhook(folder: Path) -> WebhookServer:
    return WebhookServer(folder, "hack.lib.life.webhook")


@contextmanager
def standalone(folder: Path, store: str, *, has_rules: bool = False) -> Iterator[Deployment]:
    """Start apiext on SQLite or etcd for the block."""
    with _webhook(folder) as webhook, fleets.alone(folder, store, durable=False) as fleet:
        (access,) = fleet.direct
        victims = [*fleet.servers, *([] if has_rules else [webhook]), *fleet.etcds]
        yield Deployment(access, access.caller, webhook, victims, has_rules=has_rules)


@contextmanager
def adopted(folder: Path, *, has_rules: bool = False) -> Iterator[Deployment]:
    """Start a cluster whose controllers and operator run, with apiext behind it, for the block."""
    with _webhook(folder) as webhook, AggregatedCluster(folder, selector=SELECTOR) as cluster:
        plane = cluster.plane
        access = Access(plane.port, plane.ca, plane.admin)
        victims = [cluster.apiext, *([] if has_rules else [webhook]), cluster.etcd]
        yield Deployment(access, cluster.host, webhook, victims, cluster.own(), has_rules)


@contextmanager
def reference(folder: Path) -> Iterator[Deployment]:
    """Start kube-apiserver with its controllers for the block; nothing is killed."""
    with _webhook(folder) as webhook, ControlPlane(folder, controller_manager=True, durable=False) as plane:
        yield Deployment(Access(plane.port, plane.ca, plane.admin), plane.client, webhook)


WAYS: Final[dict[str, Callable[[Path], AbstractContextManager[Deployment]]]] = {
    "sqlite": partial(standalone, store="sqlite"),
    "etcd": partial(standalone, store="etcd"),
    "adopted": adopted,
    "sqlite-rules": partial(standalone, store="sqlite", has_rules=True),
    "adopted-rules": partial(adopted, has_rules=True),
}
"""The ways in which apiext plays the life."""
