"""Several replicas over an etcd of several members, replaced and killed one after the other."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.replicas import API_VERSION, WIDGETS, Replicas, assert_whole
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer
from tests.support.clients.readers import reading
from tests.support.clients.writers import Writer, writing

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def replicas(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Provide two replicas for this file; a test leaves all running."""
    with Replicas(cluster, tmp_path_factory.mktemp("replicas")) as started:
        yield started


@pytest.fixture(autouse=True)
def clean(replicas: Replicas) -> Iterator[None]:
    """Delete the objects after each test."""
    yield
    with Client(replicas.plane) as client:
        client.must("DELETE", WIDGETS)


def _assert_whole(replicas: Replicas, writers: list[Writer], informers: list[Informer]) -> None:
    """Assert that all acknowledged writes are there, and that every informer has seen them."""
    with Client(replicas.plane) as client:
        items = client.must("GET", WIDGETS)["items"]
    for informer in informers:
        assert_whole(writers, items, informer)


def test_replaces_replicas_without_a_failure(replicas: Replicas) -> None:
    """Fail no request through the cluster, and lose no event, while replicas are replaced."""
    plane = replicas.plane
    with Informer(plane, WIDGETS) as informer, Informer(plane, WIDGETS) as other:
        with writing(plane, WIDGETS, count=4, api_version=API_VERSION) as writers, reading(plane, WIDGETS) as readers:
            for server in replicas.servers:
                writers[0].wait(10)
                replicas.roll(server)
            writers[0].wait(10)
            assert all(writer.is_alive() for writer in writers)

        assert [failure for writer in writers for failure in writer.failures] == []
        assert [failure for reader in readers for failure in reader.failures] == []
        _assert_whole(replicas, writers, [informer, other])


def test_survives_killed_replicas(replicas: Replicas) -> None:
    """Lose no acknowledged write and no event after kill -9 of each replica."""
    plane = replicas.plane
    with Informer(plane, WIDGETS) as informer, Informer(plane, WIDGETS) as other:
        with writing(plane, WIDGETS, count=4, api_version=API_VERSION) as writers:
            for server in replicas.servers:
                writers[0].wait(10)
                replicas.kill(server)
            writers[0].wait(10)
            assert all(writer.is_alive() for writer in writers)
        _assert_whole(replicas, writers, [informer, other])


def test_survives_killed_etcd_members(replicas: Replicas) -> None:
    """Lose no acknowledged write and no event after kill -9 of a follower and of the leader of etcd."""
    plane, etcd = replicas.plane, replicas.etcd
    with Informer(plane, WIDGETS) as informer, Informer(plane, WIDGETS) as other:
        with writing(plane, WIDGETS, count=4, api_version=API_VERSION) as writers:
            for leads in (False, True):
                writers[0].wait(10)
                leader = etcd.leader()
                next(member for member in etcd.members if (member is leader) == leads).kill()
                writers[0].wait(10)
                etcd.start()
            writers[0].wait(10)
        _assert_whole(replicas, writers, [informer, other])
        assert (informer.lists, other.lists) == (1, 1)
