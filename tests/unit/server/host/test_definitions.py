"""The host of definitions: how it changes, goes away and comes back."""

import pytest

from apiext.meta.host_annotations import HOST_REVISION
from apiext.server.routes.healthz import UnhealthyError
from tests.support.captured_logs import logged
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.host_follower import NAME, ONE, SERVED, Replica, annotations_of, crd, short_named
from tests.support.servers.in_process import InProcess


async def test_disappeared(replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    """What has gone without an end that anybody saw takes nothing with it, nor does another definition of its name."""
    await replica.host.vanish(NAME)
    gone = f"{NAME}: it is gone from the host, where nobody has seen it terminate; what there is of it here stays"
    await replica.until(lambda: replica.source.problems == [gone])
    assert [line["problem"] for line in logged(caplog) if "problem" in line] == [gone]
    replica.definitions.check()
    assert replica.definitions.remarks() == ["1 of its definitions not followed", gone]

    await replica.host.put(short_named(crd(), "next"))
    await replica.until(lambda: "on the host it is another one now, with uid uid-104 instead of uid-102" in replica.source.problems[0])
    assert replica.shows()
    await replica.server.ask("DELETE", ONE)
    await replica.until(lambda: replica.shows("next"))
    await replica.until(lambda: replica.source.problems == [])


async def test_removed_unseen(replica: Replica) -> None:
    """A definition that was never terminating may be removed there, and stays here."""
    await replica.host.remove(NAME)
    await replica.until(lambda: bool(replica.source.problems))

    found = replica.server.catalog.get(NAME)
    assert found is not None
    assert not found.is_terminating
    await replica.server.ask("DELETE", ONE)
    await replica.until(lambda: replica.source.problems == [])


async def test_a_restored_host(replica: Replica) -> None:
    """A host that has gone back to an earlier state is followed there."""
    await replica.host.put(short_named(crd(), "late"))
    await replica.until(lambda: replica.shows("late"))
    await replica.host.go()
    await replica.until(lambda: bool(replica.source.unreached))
    replica.host.definitions[NAME]["spec"]["names"].pop("shortNames")
    replica.host.restore()
    replica.source._reflector._revision = ""
    await replica.host.come()

    await replica.until(replica.shows)
    assert annotations_of(replica.server, NAME)[HOST_REVISION] == "10"


async def test_a_host_that_is_away(replica: Replica) -> None:
    """Since when it is away is told, to everybody; why, to those who are known. When it is back what was missed follows."""
    await replica.host.go()
    await replica.until(lambda: bool(replica.source.unreached))
    replica.definitions.check()
    short, reason = replica.definitions.remarks()
    assert short == f"not reached since {replica.source.unreached}"
    assert "127.0.0.1" in reason
    await replica.host.put(short_named(crd(), "back"))
    await replica.host.come()

    await replica.until(lambda: replica.shows("back"))
    assert replica.definitions.remarks() == []
    watches = [path for path in replica.host.asked if "watch" in path]
    assert "resourceVersion=102" in watches[-1]


async def test_a_host_that_is_not_there_at_first(server: InProcess) -> None:
    """Without any definition nobody can be served; with those of last time everybody can."""
    host = FakeHost()
    await host.come()
    await host.put(crd())
    await host.go()
    async with Replica(host, server) as replica:
        with pytest.raises(UnhealthyError, match="namespaces/kube-system"):
            replica.definitions.check()
        await host.come()
        await replica.until(replica.shows)
        await replica.until(lambda: not replica.source.unreached)
        replica.definitions.check()
        await host.go()

    async with Replica(host, server) as replica:
        replica.definitions.check()
        assert replica.definitions.remarks()[0].startswith("not reached since ")


async def test_another_host(replica: Replica) -> None:
    """Another cluster in the place of the host is not followed, and the server is not ready; the right one is followed again."""
    replica.host.uid = "host-2"
    await replica.host.vanish(NAME)
    await replica.until(lambda: replica.source.is_stranger)
    await replica.host.put(short_named(crd("others", "Other"), "x"))
    with pytest.raises(UnhealthyError, match="uid host-2, and not host-1; its definitions are not followed"):
        replica.definitions.check()
    assert [found.name for found in replica.server.catalog.all()] == [NAME]
    assert replica.source.problems == []

    replica.host.uid = "host-1"
    await replica.until(lambda: replica.server.catalog.get("others.example.com") is not None)
    replica.definitions.check()


async def test_large_hosts(server: InProcess) -> None:
    """Of many definitions those are kept that matter."""
    async with FakeHost() as host:
        for number in range(60):
            await host.put(crd(f"many{number}", f"Many{number}", labels={} if number % 20 else SERVED))
        async with Replica(host, server) as replica:
            assert sorted(replica.source._hosts) == ["many0.example.com", "many20.example.com", "many40.example.com"]
            assert len([path for path in host.asked if "limit=25" in path]) == 3
