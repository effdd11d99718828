"""The host's definitions while the host changes, disappears and returns."""

import gc

import pytest

from apiext.base.meta.host_annotations import HOST_REVISION
from apiext.server.host.host_definition import HostDefinition
from apiext.server.routes.healthz import UnhealthyError
from tests.support.captured_logs import logged
from tests.support.event_loop import until
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.host_follower import NAME, ONE, SERVED, Replica, annotations_of, crd, short_named
from tests.support.servers.in_process import InProcess


async def test_keeps_the_mirror_of_a_vanished_definition(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    """Keep a mirror whose definition vanished unseen, also where a new one has its name."""
    await replica.host.drop_history(NAME)
    gone = f"{NAME}: missing on the host without having been seen terminating; its mirror and the instances are kept"
    await until(lambda: replica.source.problems == [gone])
    assert [line["problem"] for line in logged(caplog) if "problem" in line] == [gone]
    replica.definitions.check()
    assert replica.definitions.remarks() == ["1 of its definitions not mirrored", gone]

    await replica.host.put(short_named(crd(), "next"))
    await until(lambda: "the host has a new definition of this name with uid uid-104 instead of uid-102" in replica.source.problems[0])
    assert replica.shows()
    await replica.server.ask("DELETE", ONE)
    await until(lambda: replica.shows("next"))
    await until(lambda: replica.source.problems == [])


async def test_keeps_the_mirror_of_a_removed_definition(replica: Replica) -> None:
    """Keep the mirror of a definition that is removed without having been terminating."""
    await replica.host.remove(NAME)
    await until(lambda: bool(replica.source.problems))

    found = replica.server.catalog.get(NAME)
    assert found is not None
    assert not found.is_terminating
    await replica.server.ask("DELETE", ONE)
    await until(lambda: replica.source.problems == [])


async def test_follows_a_restored_host(replica: Replica) -> None:
    """Update mirrors to the earlier state of a restored host."""
    await replica.host.put(short_named(crd(), "late"))
    await until(lambda: replica.shows("late"))
    await replica.host.stop()
    await until(lambda: bool(replica.source.unreachable_since))
    replica.host.definitions[NAME]["spec"]["names"].pop("shortNames")
    replica.host.restore()
    await replica.host.start()

    await until(replica.shows)
    assert annotations_of(replica.server, NAME)[HOST_REVISION] == "10"


async def test_reports_an_unreachable_host(replica: Replica) -> None:
    """Report since when the host is unreachable to all, the reason to authenticated users; catch up when it returns."""
    await replica.host.stop()
    await until(lambda: bool(replica.source.unreachable_since))
    replica.definitions.check()
    short, reason = replica.definitions.remarks()
    assert short == f"not reached since {replica.source.unreachable_since}"
    assert "127.0.0.1" in reason
    await replica.host.put(short_named(crd(), "back"))
    await replica.host.start()

    await until(lambda: replica.shows("back"))
    assert replica.definitions.remarks() == []
    watches = [path for path in replica.host.asked if "watch" in path]
    assert "resourceVersion=102" in watches[-1]


async def test_starts_without_the_host(server: InProcess) -> None:
    """Become ready without the host only where the store has definitions."""
    host = FakeHost()
    await host.start()
    await host.put(crd())
    await host.stop()
    async with Replica(host, server) as replica:
        with pytest.raises(UnhealthyError, match="namespaces/kube-system"):
            replica.definitions.check()
        await host.start()
        await until(replica.shows)
        await until(lambda: not replica.source.unreachable_since)
        replica.definitions.check()
        await host.stop()

    async with Replica(host, server) as replica:
        replica.definitions.check()
        assert replica.definitions.remarks()[0].startswith("not reached since ")


async def test_refuses_another_host(replica: Replica) -> None:
    """Mirror nothing of another cluster and report not ready, until the right one returns."""
    replica.host.uid = "host-2"
    await replica.host.drop_history(NAME)
    await until(lambda: replica.source.is_other_cluster)
    await replica.host.put(short_named(crd("others", "Other"), "x"))
    with pytest.raises(UnhealthyError, match="uid host-2, and not host-1; its definitions are not mirrored"):
        replica.definitions.check()
    assert [found.name for found in replica.server.catalog.all()] == [NAME]
    assert replica.source.problems == []

    replica.host.uid = "host-1"
    await until(lambda: replica.server.catalog.get("others.example.com") is not None)
    replica.definitions.check()


async def test_strips_other_definitions(server: InProcess) -> None:
    """Keep only the needed fields of definitions that are not selected."""
    async with FakeHost() as host:
        for number in range(60):
            await host.put(crd(f"many{number}", f"Many{number}", labels={} if number % 20 else SERVED))
        async with Replica(host, server):
            kept = {found.name for found in gc.get_objects() if isinstance(found, HostDefinition) and found.name.startswith("many")}
            assert kept == {"many0.example.com", "many20.example.com", "many40.example.com"}
            assert len([path for path in host.asked if "limit=25" in path]) == 3
