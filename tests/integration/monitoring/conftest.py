"""Scrapes of a server, of an operator and of etcd."""

import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from apiext.operator.probes.listener import OperatorMetrics
from apiext.operator.statistics import OperatorStatistics
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.integration.monitoring.evaluation import ETCD, OPERATOR, SERVER, Series, series_of
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


class _Status:
    """An operator that leads (operator.status.OperatorStatus)."""

    is_synced = knows_leader = is_leader = True

    def __init__(self) -> None:
        self.statistics = OperatorStatistics()

    def condition_reasons(self) -> dict[str, str]:
        """See OperatorStatus.condition_reasons."""
        return {"widgets.example.com": "Serving"}


def _operator_scrapes() -> tuple[str, str]:
    status, registry = _Status(), CollectorRegistry()
    registry.register(OperatorMetrics(status))
    scrapes = []
    for _ in range(2):
        with status.statistics.session(), status.statistics.reconciliation():
            status.statistics.event("Serving")
        scrapes.append(generate_latest(registry).decode())
    return scrapes[0], scrapes[1]


@pytest.fixture(scope="session")
def server_scrapes(etcd: Etcd, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what a server on etcd shows before and after some requests."""
    scrapes = []
    folder = tmp_path_factory.mktemp("apiext")
    with ApiextServer(folder, etcd_url=etcd.url, etcd_prefix="/monitored") as server, Client(server) as client:
        client.define(widget_crd())
        for name in ("a", "b"):
            client.must("POST", WIDGETS, widget(name))
            client.must("GET", f"{WIDGETS}/{name}")
            assert client.ask("GET", f"{WIDGETS}/none").status == 404
            # waits for the watch cache, which must not seem to lag
            client.must("GET", WIDGETS)
            scrapes.append(server.request("GET", "/metrics")[2].decode())
    return scrapes


@pytest.fixture(scope="session")
def declared(server_scrapes: list[str]) -> set[str]:
    """Return the metrics that the server declares, with or without series."""
    return {line.split()[2] for line in server_scrapes[0].splitlines() if line.startswith("# TYPE")}


@pytest.fixture(scope="session")
def scraped(server_scrapes: list[str], etcd: Etcd) -> Series:
    """Return the series of all three."""
    with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=30) as answer:  # noqa: S310 -- an address of this machine
        found = answer.read().decode()
    return series_of(SERVER, *server_scrapes) | series_of(OPERATOR, *_operator_scrapes()) | series_of(ETCD, found, found)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time to build promtool on a machine that has nothing yet."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(1500))
