"""The servers of a long run with all that can go wrong around them: links, disks and clocks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.lib.servers.aggregated_cluster import SELECTOR, AggregatedCluster, ServerSettings
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.balancer import Balancer
from hack.lib.servers.caller import Caller
from hack.lib.servers.etcd import Etcd, EtcdCluster
from hack.lib.servers.process import free_port
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.long import slow_disk
from hack.lib.soak.long.clock import Clock, NoClockError, library
from hack.lib.soak.long.links import Link, Links

MEMBERS: Final = 3
REPLICAS: Final = 3
_Reached = tuple[Sequence[ApiextServer], Access | Replicas, Sequence[Access], Caller]
"""Servers, the access of ordinary clients, the access to each server, and the administrator's client."""


@dataclass
class World:
    """Running servers.

    `administrator` is the client for definitions and configurations. `to_etcd` has the links of each server to all members, `peers`
    one link to each member for the others. `delays` are the files of slow_disk, one for each member. `clocks` is empty where clocks
    cannot be set; `missing` says why.
    """

    servers: Sequence[ApiextServer]
    front: Access | Replicas
    direct: Sequence[Access]
    administrator: Caller
    links: Links
    members: Sequence[Etcd] = ()
    to_etcd: Sequence[Sequence[Link]] = ()
    peers: Sequence[Link] = ()
    delays: Sequence[Path] = ()
    clocks: Sequence[Clock] = ()
    missing: list[str] = field(default_factory=list)


@contextmanager
def start(folder: Path, store: str, *, behind_host: bool, flags: Callable[[int], Sequence[str]]) -> Iterator[World]:
    """Run one server on SQLite, or three on three members of an etcd, alone or behind kube-apiserver, for the block.

    `flags` returns the flags of the server with a number.
    """
    with ExitStack() as stack:
        links = stack.enter_context(Links())
        clocks, missing = _clocks(folder, 1 if store == "sqlite" else REPLICAS)
        envs = [clock.environment for clock in clocks] or [{}] * REPLICAS
        if store == "sqlite":
            yield _embedded(stack, folder, links, ServerSettings("", flags(0), envs[0]), clocks, missing)
            return
        etcds = _Etcds(stack, folder, links)
        settings = [ServerSettings(url, flags(number), envs[number]) for number, url in enumerate(etcds.urls())]
        reached = (_behind_host if behind_host else _replicas)(stack, folder, settings)
        yield World(*reached, links, etcds.members, etcds.to_etcd, etcds.peers, etcds.delays, clocks, missing)


class _Etcds:
    """Three members that reach each other, and are reached by three servers, through links."""

    def __init__(self, stack: ExitStack, folder: Path, links: Links) -> None:
        names = [f"m{number}" for number in range(MEMBERS)]
        listening = {name: free_port() for name in names}
        self.peers = [links.add(listening[name]) for name in names]
        self.delays = [folder / f"delay-{name}" for name in names]
        urls = {name: f"http://127.0.0.1:{link.port}" for name, link in zip(names, self.peers, strict=True)}
        program = slow_disk.program()
        self.members = [
            Etcd(
                folder / name,
                name=name,
                peers=urls,
                peer_url=f"http://127.0.0.1:{listening[name]}",
                program=program,
                env={slow_disk.DELAY_FILE: str(delay)},
            )
            for name, delay in zip(names, self.delays, strict=True)
        ]
        self.to_etcd = [[links.add(member.port) for member in self.members] for _ in range(REPLICAS)]
        stack.enter_context(EtcdCluster(folder, members=self.members))

    def urls(self) -> list[str]:
        """Return the --etcd-servers of each server."""
        return [",".join(f"http://127.0.0.1:{link.port}" for link in links) for links in self.to_etcd]


def _clocks(folder: Path, count: int) -> tuple[list[Clock], list[str]]:
    try:
        preloaded = library()
    except NoClockError as error:
        return [], [f"clocks do not jump: {error}"]
    return [Clock(folder / f"clock-{number}", preloaded) for number in range(count)], []


def _embedded(stack: ExitStack, folder: Path, links: Links, own: ServerSettings, clocks: list[Clock], missing: list[str]) -> World:
    server = stack.enter_context(ApiextServer(folder / "apiext", extra_args=own.flags, env=own.env))
    access = Access.of(server)
    return World([server], access, [access], access.caller, links, clocks=clocks, missing=missing)


def _replicas(stack: ExitStack, folder: Path, settings: Sequence[ServerSettings]) -> _Reached:
    """Start the servers alone."""
    servers = [
        stack.enter_context(ApiextServer(folder / f"apiext-{number}", etcd_url=own.etcd_url, extra_args=own.flags, env=own.env))
        for number, own in enumerate(settings)
    ]
    direct = [Access.of(server) for server in servers]
    return servers, Replicas(direct), direct, direct[0].caller


def _behind_host(stack: ExitStack, folder: Path, settings: Sequence[ServerSettings]) -> _Reached:
    """Start the servers behind kube-apiserver, which reaches them through a load balancer."""
    cluster = AggregatedCluster(folder, selector=SELECTOR, controller_manager=False, operator=False, durable=True, settings=settings)
    stack.enter_context(cluster)
    plane, servers = cluster.plane, cluster.servers
    for server in servers:
        stack.callback(server.kill)  # no client needs the delay
    balancer = stack.enter_context(Balancer(servers))
    balancer.wait(*servers)
    stack.enter_context(cluster.another_operator("operator", f"--service-port={balancer.port}", f"--server={balancer.url}"))
    direct = [Access(one.port, one.ca, plane.admin) for one in servers]
    return servers, Access(plane.port, plane.ca, plane.admin), direct, plane.client
