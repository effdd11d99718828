"""The aggregated way: custom resources of a cluster, kept by kube-apiserver itself or by apiext behind it."""

import time
from pathlib import Path

from hack.lib.bench import workload
from hack.lib.bench.targets import access
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.waiting import until


class Cluster:
    """Kube-apiserver with apiext behind it, each with an etcd of its own; apiext adopts the group under load, unless it is `plain`.

    All requests go to kube-apiserver. Processor time and memory are those of both where both work, else kube-apiserver's.
    """

    def __init__(self, folder: Path, *, plain: bool = False) -> None:
        self.name = "kube-apiserver" if plain else "apiext behind it"
        self._plain = plain
        selector = None if plain else SELECTOR
        self._cluster = AggregatedCluster(folder, selector=selector, controller_manager=False, operator=not plain, durable=True)

    def start(self) -> float:
        """Start all; the seconds are those of the server that keeps the objects."""
        self._cluster.__enter__()
        start = time.monotonic()
        if self._plain:
            self._cluster.plane.restart_apiserver()
        else:
            self._cluster.apiext.restart()
        seconds = time.monotonic() - start
        self._cluster.host.must("POST", CRDS, workload.crd("firsts", "First"))
        until(lambda: self._plain or self._cluster.proxied(f"v1.{workload.GROUP}"))
        return seconds

    def stop(self) -> None:
        """Stop everything."""
        self._cluster.__exit__()

    def access(self) -> dict[str, str]:
        """See Target."""
        return access(self._cluster.plane)

    def pids(self) -> list[int]:
        """See Target."""
        host = self._cluster.plane.apiserver.pid
        return [host] if self._plain else [host, self._cluster.apiext.pid]
