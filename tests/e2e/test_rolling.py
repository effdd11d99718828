"""Two replicas with an operator: a group of a folder and an adopted one, while servers are replaced and killed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final, Self

import pytest

from hack.lib.servers.aggregated_cluster import API_SERVICES
from hack.lib.servers.balanced import Balanced
from tests.e2e.cluster import SERVED, Cluster, until
from tests.e2e.replicas import assert_whole
from tests.support.builders.crds import widgets_path
from tests.support.clients.informer import Informer
from tests.support.clients.readers import Reader, reading
from tests.support.clients.writers import Writer, writing

pytestmark = pytest.mark.slow
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
WRITES: Final = 10


class Rolling(Balanced):
    """Two more servers on the cluster's store, and a running operator that registers them with the host."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        super().__init__([cluster.another_server(f"rolling-{number}", "--shutdown-delay-duration=3s") for number in range(2)])
        port, url = self.balancer.port, self.balancer.url
        self.operator = cluster.another_operator("rolling-operator", f"--service-port={port}", f"--server={url}")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            stack.callback(self._lead_back)
            stack.enter_context(self.operator)
            until(lambda: self._led_to(self.balancer.port))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def _led_to(self, port: int) -> bool:
        names = [f"v1.{group}" for group in SERVED]
        specs = [self.cluster.host.must("GET", f"{API_SERVICES}/{name}")["spec"] for name in names]
        return all(spec["service"]["port"] == port for spec in specs) and all(map(self.cluster.available, names))

    def _lead_back(self) -> None:
        port = self.cluster.apiext.port
        for group in SERVED:
            self.cluster.host.must("PATCH", f"{API_SERVICES}/v1.{group}", {"spec": {"service": {"port": port}}}, MERGE)
        until(lambda: self._led_to(port))


@dataclass(frozen=True, slots=True)
class Load:
    """Clients of one group that write and read through the cluster."""

    group: str
    writers: list[Writer]
    readers: list[Reader]
    informer: Informer

    @property
    def failures(self) -> list[object]:
        """Return the requests that failed."""
        writers = [failure for writer in self.writers for failure in writer.failures]
        return writers + [failure for reader in self.readers for failure in reader.failures]


@contextmanager
def _busy(cluster: Cluster) -> Iterator[list[Load]]:
    """Run load on both groups during the block; assert afterwards that no write was lost and no informer missed an event."""
    plane = cluster.plane
    with ExitStack() as following, ExitStack() as stack:
        informers = [following.enter_context(Informer(plane, widgets_path(group))) for group in SERVED]
        loads = []
        for group, informer in zip(SERVED, informers, strict=True):
            writers = stack.enter_context(writing(plane, widgets_path(group), count=2, api_version=f"{group}/v1"))
            loads.append(Load(group, writers, stack.enter_context(reading(plane, widgets_path(group), count=1)), informer))
        yield loads
        _go_on(loads)
        assert all(writer.is_alive() for load in loads for writer in load.writers)
        stack.close()
        for load in loads:
            assert_whole(load.writers, cluster.host.must("GET", widgets_path(load.group))["items"], load.informer)


def _go_on(loads: list[Load]) -> None:
    for load in loads:
        load.writers[0].wait(WRITES)


@pytest.fixture(scope="module")
def rolling(cluster: Cluster) -> Iterator[Rolling]:
    """Provide the replicas for this file; a test leaves all running."""
    with Rolling(cluster) as started:
        yield started


@pytest.fixture(autouse=True)
def clean(rolling: Rolling) -> Iterator[None]:
    """Delete the objects after each test."""
    yield
    for group in SERVED:
        rolling.cluster.host.must("DELETE", widgets_path(group))


def test_replaces_replicas_without_a_failure(rolling: Rolling) -> None:
    """Fail no request through the cluster while replicas are replaced, and let the watches of informers resume."""
    with _busy(rolling.cluster) as loads:
        for server in rolling.servers:
            _go_on(loads)
            rolling.roll(server)

    assert [failure for load in loads for failure in load.failures] == []
    # client-go lists again when the aggregator answers 503 to a watch, but not after the 429 of a server that ends
    assert [(load.informer.lists, set(load.informer.refused) - {429}) for load in loads] == [(1, set())] * len(loads)


def test_survives_killed_replicas(rolling: Rolling) -> None:
    """Recover by itself after kill -9 of each replica."""
    with _busy(rolling.cluster) as loads:
        for server in rolling.servers:
            _go_on(loads)
            rolling.kill(server)


def test_survives_a_killed_etcd(rolling: Rolling) -> None:
    """Recover by itself when the only member of apiext's etcd is back after kill -9."""
    etcd = rolling.cluster.etcd
    with _busy(rolling.cluster) as loads:
        _go_on(loads)
        etcd.kill()
        etcd.start()
