"""The cluster that all these tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.lib.servers.kubectl import Kubectl
from tests.e2e.cluster import SERVED, Cluster
from tests.e2e.installed import Installed
from tests.e2e.pods import Pods


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with apiext behind its kube-apiserver; a test keeps to names of its own and leaves both running."""
    with Cluster(tmp_path_factory.mktemp("e2e")) as started:
        yield started


@pytest.fixture(params=SERVED, ids=["folder", "labelled"])
def group(request: pytest.FixtureRequest) -> str:
    """Each of the groups that apiext serves."""
    return str(request.param)


@pytest.fixture
def kubectl(cluster: Cluster, tmp_path: Path) -> Kubectl:
    """An administrator of the host."""
    return Kubectl(cluster.plane.kubeconfig, tmp_path)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A cluster with the manifests' base."""
    with Installed(tmp_path_factory.mktemp("installed")) as started:
        yield started


@pytest.fixture(scope="session")
def pods(installed: Installed) -> Iterator[Pods]:
    """The programs of the base's pods."""
    with Pods(installed) as started:
        yield started
