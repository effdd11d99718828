"""Fixtures that all end-to-end tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.lib.servers.kubectl import Kubectl
from tests.e2e.cluster import SERVED, Cluster
from tests.e2e.installed import Installed
from tests.e2e.pods import Pods


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Provide a cluster with apiext; a test uses its own names, and leaves both running."""
    with Cluster(tmp_path_factory.mktemp("e2e")) as started:
        yield started


@pytest.fixture(params=SERVED, ids=["folder", "labelled"])
def group(request: pytest.FixtureRequest) -> str:
    """Provide each of the groups that apiext serves."""
    return str(request.param)


@pytest.fixture
def kubectl(cluster: Cluster, tmp_path: Path) -> Kubectl:
    """Provide kubectl as an administrator of the host."""
    return Kubectl(cluster.plane.kubeconfig, tmp_path)


@pytest.fixture(scope="package")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Provide a cluster with the base of the manifests."""
    with Installed(tmp_path_factory.mktemp("installed")) as started:
        yield started


@pytest.fixture(scope="package")
def pods(installed: Installed) -> Iterator[Pods]:
    """Provide the running programs of the base's pods."""
    with Pods(installed) as started:
        yield started
