"""Several replicas over an etcd of several members: rolled without a loss, and whole again after any of them was killed."""

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
    """Two replicas, for all of this file; a test leaves all running."""
    with Replicas(cluster, tmp_path_factory.mktemp("replicas")) as started:
        yield started


@pytest.fixture(autouse=True)
def clean(replicas: Replicas) -> Iterator[None]:
    """No objects are left to the next test."""
    yield
    with Client(replicas.plane) as client:
        client.must("DELETE", WIDGETS)


def _assert_whole(replicas: Replicas, writers: list[Writer], informers: list[Informer]) -> None:
    """All that was acknowledged is there, and every informer has been told of it."""
    with Client(replicas.plane) as client:
        items = client.must("GET", WIDGETS)["items"]
    for informer in informers:
        assert_whole(writers, items, informer)


def test_rolled_without_a_failure(replicas: Replicas) -> None:
    """While replicas are replaced one after the other no request through the cluster fails, and informers miss nothing."""
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


def test_killed_replicas(replicas: Replicas) -> None:
    """After kill -9 of one replica, then of the other, all goes on by itself; nothing acknowledged is lost, and informers miss nothing."""
    plane = replicas.plane
    with Informer(plane, WIDGETS) as informer, Informer(plane, WIDGETS) as other:
        with writing(plane, WIDGETS, count=4, api_version=API_VERSION) as writers:
            for server in replicas.servers:
                writers[0].wait(10)
                replicas.kill(server)
            writers[0].wait(10)
            assert all(writer.is_alive() for writer in writers)
        _assert_whole(replicas, writers, [informer, other])


def test_killed_members_of_etcd(replicas: Replicas) -> None:
    """After kill -9 of a member of etcd that follows, and of the one that leads, all goes on by itself; nothing is lost or missed."""
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
