"""The aggregated way: custom resources of a cluster, kept by kube-apiserver itself or by apiext behind it."""

import time
from pathlib import Path
from typing import Any

from tests.support.aggregated import CRDS, AggregatedCluster
from tests.support.bench import workload
from tests.support.bench.targets import access


class Cluster:
    """Kube-apiserver with apiext behind it, each with an etcd of its own; the group under load is apiext's, or it is `plain`.

    All requests go to kube-apiserver. Processor time and memory are those of both where both work, else kube-apiserver's.
    """

    def __init__(self, folder: Path, *, plain: bool = False) -> None:
        self.name = "kube-apiserver" if plain else "apiext behind it"
        self._plain = plain
        self._cluster = AggregatedCluster(folder, controller_manager=False, operator=False, durable=True)

    def start(self) -> float:
        """Start all; the seconds are those of the server that keeps the objects."""
        self._cluster.__enter__()
        start = time.monotonic()
        if self._plain:
            self._cluster.plane.restart_apiserver()
        else:
            self._cluster.apiext.restart()
        seconds = time.monotonic() - start
        if not self._plain:
            self._define(workload.crd("firsts", "First"))
            self._cluster.register(workload.GROUP, "v1")
        return seconds

    def stop(self) -> None:
        """Stop everything."""
        self._cluster.__exit__()

    def access(self) -> dict[str, str]:
        """See Target."""
        return access(self._cluster.plane)

    def definitions(self) -> dict[str, str]:
        """See Target."""
        return self.access() if self._plain else self.access() | {"URL": self._cluster.apiext.url, "CA": str(self._cluster.authority.cert)}

    def pids(self) -> list[int]:
        """See Target."""
        host = self._cluster.plane.apiserver.pid
        return [host] if self._plain else [host, self._cluster.apiext.pid]

    def _define(self, crd: dict[str, Any]) -> None:
        self._cluster.own().must("POST", CRDS, crd)
