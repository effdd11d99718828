"""Two replicas of apiext over an etcd of three members, behind a balancer and a cluster's kube-apiserver."""

import base64
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from tests.support.aggregated import API_SERVICES, NAMESPACE, SERVICE, AggregatedCluster
from tests.support.balancer import Balancer
from tests.support.etcd import EtcdCluster
from tests.support.inprocess import definition
from tests.support.waiting import until

GROUP: Final = "replicas.example.com"
API_VERSION: Final = f"{GROUP}/v1"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
_NAME: Final = f"v1.{GROUP}"


class Replicas:
    """The `servers`, their `etcd` and the `balancer`; `plane` is the kube-apiserver that proxies to them."""

    def __init__(self, cluster: AggregatedCluster, folder: Path) -> None:
        crds = folder / "crds"
        crds.mkdir()
        (crds / "widgets.json").write_text(json.dumps(definition(group=GROUP)))
        self._cluster = cluster
        self.plane = cluster.plane
        self.etcd = EtcdCluster(folder / "etcd", durable=False)
        self.servers = [
            cluster.another_server(f"replica-{number}", "--shutdown-delay-duration=3s", etcd_url=self.etcd.url, crd_dir=crds)
            for number in range(2)
        ]
        self.balancer = Balancer(self.servers)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start everything and register it with the host."""
        with ExitStack() as stack:
            stack.enter_context(self.etcd)
            for server in self.servers:
                stack.enter_context(server)
                stack.callback(server.kill)  # nobody waits for the delay
            stack.enter_context(self.balancer)
            self.balancer.wait(*self.servers)
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
