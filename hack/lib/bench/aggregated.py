"""Aggregated targets: kube-apiserver stores custom resources itself, or proxies them to apiext."""

import time
from pathlib import Path
from typing import Final

from apiext.base.meta.request import MASTERS
from hack.lib.bench import workload
from hack.lib.bench.targets import USER, access, bind_users
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import process_tree

TRUSTING: Final = "apiext behind it, FrontProxy"
_CACHES: Final = ("--authorization-webhook-cache-authorized-ttl=10s", "--authorization-webhook-cache-unauthorized-ttl=10s")
"""The default of apiext."""


class Cluster:
    """A kube-apiserver with apiext behind it, each with its own etcd.

    The target sends all requests to kube-apiserver, and apiext adopts the group under load unless the target is `plain`.
    Processor time and memory are those of both servers, or of kube-apiserver alone if `plain`. Unless users are `administrators`, or
    `trusting` apiext takes what the host proxies as authorized, apiext sends SubjectAccessReviews to it, and caches the decisions for 10 s.
    """

    def __init__(self, folder: Path, *, plain: bool = False, trusting: bool = False, administrators: bool = False) -> None:
        self.name = "kube-apiserver" if plain else TRUSTING if trusting else "apiext behind it, Webhook"
        self._plain = plain
        self._groups = (MASTERS,) if administrators else ()
        selector = None if plain else SELECTOR
        flags = [*_CACHES, *(["--authorization-mode=FrontProxy,Webhook"] if trusting else [])]
        self._cluster = AggregatedCluster(
            folder, selector=selector, controller_manager=False, operator=not plain, durable=True, serve_args=flags
        )

    def start(self) -> float:
        """Start all programs; return the seconds until the server that stores the objects is ready."""
        self._cluster.__enter__()
        bind_users(self._cluster.plane)
        start = time.monotonic()
        self.restart()
        seconds = time.monotonic() - start
        first = workload.crd("firsts", "First")
        if self._plain:
            self._cluster.host.must("POST", CRDS, first)
        else:
            self._cluster.adopt(first)
        return seconds

    def restart(self) -> None:
        """Restart the server that stores the objects; see Target."""
        if self._plain:
            self._cluster.plane.restart_apiserver()
        else:
            self._cluster.apiext.restart()

    def stop(self) -> None:
        """Stop all programs."""
        self._cluster.__exit__()

    def access(self, user: str = USER) -> dict[str, str]:
        """Return the URL and the files of a user; see Target."""
        plane = self._cluster.plane
        return access(plane.url, plane.ca, plane.authority, user, self._groups)

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        host = self._cluster.plane.apiserver.pid
        return [host] if self._plain else [host, *process_tree(self._cluster.apiext.pid)]

    def host_pids(self) -> list[int]:
        """Return the process ids of the host; see Target."""
        return [] if self._plain else [self._cluster.plane.apiserver.pid]

    def proxied_port(self) -> int:
        """Return the port to which the host proxies; see Target."""
        return 0 if self._plain else self._cluster.apiext.port

    @property
    def etcd(self) -> Etcd | None:
        """The store of the objects; see Target."""
        return self._cluster.plane.etcd if self._plain else self._cluster.etcd
