"""Two replicas of apiext over an etcd of three members, behind a balancer and a cluster's kube-apiserver."""

import base64
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from hack.lib.servers.aggregated_cluster import API_SERVICES, NAMESPACE, SERVICE, AggregatedCluster
from hack.lib.servers.balanced import Balanced
from hack.lib.servers.etcd import EtcdCluster
from hack.lib.waiting import until
from tests.support.builders.crds import widget_crd
from tests.support.clients.informer import Informer
from tests.support.clients.writers import Writer, assert_kept

GROUP: Final = "replicas.example.com"
API_VERSION: Final = f"{GROUP}/v1"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
_NAME: Final = f"v1.{GROUP}"


def assert_whole(writers: list[Writer], items: list[dict[str, Any]], informer: Informer) -> None:
    """Assert that all acknowledged writes are among the items, and that the informer has seen them."""
    assert_kept(writers, items)
    informer.wait_equal(items)
    assert informer.missed([revision for writer in writers for revision in writer.revisions]) == []


class Replicas(Balanced):
    """The `servers`, their `etcd` and the `balancer`; `plane` is the kube-apiserver that proxies to them."""

    def __init__(self, cluster: AggregatedCluster, folder: Path) -> None:
        crds = folder / "crds"
        crds.mkdir()
        (crds / "widgets.json").write_text(json.dumps(widget_crd(group=GROUP)))
        self._cluster = cluster
        self.plane = cluster.plane
        self.etcd = EtcdCluster(folder / "etcd", durable=False)
        super().__init__(
            [
                cluster.another_server(f"replica-{number}", "--shutdown-delay-duration=3s", etcd_url=self.etcd.url, crd_dir=crds)
                for number in range(2)
            ]
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start all programs, and register apiext with the host."""
        with ExitStack() as stack:
            stack.enter_context(self.etcd)
            self.start(stack)
            self._register()
            stack.callback(self._cluster.host.ask, "DELETE", f"{API_SERVICES}/{_NAME}")
            until(lambda: self._cluster.available(_NAME))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _register(self) -> None:
        spec = {
            "group": GROUP,
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 15,
            "caBundle": base64.b64encode(self._cluster.authority.cert.read_bytes()).decode(),
            "service": {"namespace": NAMESPACE, "name": SERVICE, "port": self.balancer.port},
        }
        self._cluster.host.must("POST", API_SERVICES, {"metadata": {"name": _NAME}, "spec": spec})
