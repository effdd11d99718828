"""Definitions of a host are mirrored here, and follow."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, Self

import pytest

from apiext.definitions.sources.kube import KubeSource
from apiext.meta.marks import HAND_OVER, HOST_REVISION, HOST_UID, PHASE
from apiext.meta.selectors import parse_label_selector
from apiext.server.definition_files import DefinitionWriter
from apiext.server.definition_mirror import MirrorWriter
from apiext.server.host import HostDefinitions, Identity
from apiext.server.routes.healthz import UnhealthyError
from apiext.storage.hostrecords import HostRecords
from tests.support.fakehost import FakeHost
from tests.support.inprocess import CRDS, InProcess, definition
from tests.support.logs import logged
from tests.unit.definitions.recorded import decoded

NAME = "widgets.example.com"
ONE = f"{CRDS}/{NAME}"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SERVED = {"serve": "yes"}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MERGE = {"Content_Type": "application/merge-patch+json"}


def crd(plural: str = "widgets", kind: str = "Widget", **metadata: Any) -> dict[str, Any]:
    """A definition of the host, selected unless its labels say otherwise."""
    found = definition(plural, kind)
    found["metadata"] |= {"labels": SERVED} | metadata
    return found


def short_named(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """The definition with short names."""
    changed = copy.deepcopy(found)
    changed["spec"]["names"]["shortNames"] = list(names)
    return changed


class Replica:
    """One server's share of following a host."""

    def __init__(self, host: FakeHost, server: InProcess) -> None:
        self.host = host
        self.server = server
        self.client = host.client()
        identity = Identity(self.client, HostRecords(server.backend, "/registry"))
        self.rest = server.definitions.scopes[""].rest
        self.source = KubeSource(
            self.client,
            parse_label_selector("serve=yes"),
            catalog=server.catalog,
            mirrors=MirrorWriter(self.rest),
            confirm=identity.confirm,
            shortest=0.01,
        )
        self.definitions = HostDefinitions(self.source, server.catalog)

    async def __aenter__(self) -> Self:
        self.source.start()
        await self.source.begun()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.source.close()
        await self.client.close()

    async def mirror(self) -> dict[str, Any]:
        """The mirror of the widgets."""
        return dict((await self.server.ask("GET", ONE)).json)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition holds."""
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 -- much may change it
                await asyncio.sleep(0.005)

    def shows(self, *names: str) -> bool:
        """Whether the widgets have such short names here."""
        found = self.server.catalog.get(NAME)
        return found is not None and found.head["spec"]["names"].get("shortNames", []) == list(names)

    async def stays(self) -> None:
        """Return when another change of the host has been dealt with."""
        await self.host.put(crd("markers", "Marker", annotations={"at": str(self.host.revision)}))
        stamp = str(self.host.revision)
        await self.until(lambda: _annotations(self.server, "markers.example.com").get(HOST_REVISION) == stamp)


def _annotations(server: InProcess, name: str) -> dict[str, str]:
    found = server.catalog.get(name)
    return dict(found.head["metadata"].get("annotations") or {}) if found else {}


@pytest.fixture
async def host() -> AsyncIterator[FakeHost]:
    """A host with a selected definition, and one that is not."""
    async with FakeHost() as host:
        await host.put(crd("gadgets", "Gadget", labels={}))
        applied = {LAST_APPLIED: "{}", PHASE: "Serving", "note": "a"}
        await host.put(crd(labels=SERVED | {"a": "b"}, annotations=applied))
        yield host


@pytest.fixture
async def replica(host: FakeHost, server: InProcess) -> AsyncIterator[Replica]:
    """A server that follows it."""
    async with Replica(host, server) as replica:
        yield replica


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """A server without any definition."""
    async with InProcess() as running:
        yield running


async def test_what_is_mirrored(replica: Replica) -> None:
    """A selected definition is served, with its labels and annotations but for those of apiext and kubectl; others are not."""
    await replica.until(lambda: replica.server.catalog.lookup("example.com", "widgets") is not None)
    metadata = (await replica.mirror())["metadata"]

    assert metadata["labels"] == SERVED | {"a": "b"}
    assert metadata["annotations"] == {"note": "a", HOST_UID: "uid-102", HOST_REVISION: "102"}
    assert [found.name for found in replica.server.catalog.all()] == [NAME]
    assert replica.source.names == [NAME]
    assert (replica.source.problems, replica.definitions.remarks()) == ([], [])


async def test_changes(replica: Replica) -> None:
    """Spec, labels and annotations follow; the phase, and what else is apiext's, stays."""
    await replica.server.ask("PATCH", ONE, {"metadata": {"annotations": {PHASE: "Serving"}}}, **MERGE)
    changed = short_named(crd(annotations={"note": "b", PHASE: "Frozen"}), "wd")
    await replica.host.put(changed)
    await replica.until(lambda: replica.shows("wd"))

    metadata = (await replica.mirror())["metadata"]
    assert metadata["labels"] == SERVED
    assert metadata["annotations"] == {"note": "b", PHASE: "Serving", HOST_UID: "uid-102", HOST_REVISION: "103"}
    assert metadata["generation"] == 2


async def test_nothing_to_follow(replica: Replica) -> None:
    """A change of the host's that concerns nobody here is not written."""
    before = (await replica.mirror())["metadata"]["resourceVersion"]
    status = replica.host.definitions[NAME] | {"status": {"conditions": []}}
    await replica.host.put(status)
    await replica.stays()

    assert (await replica.mirror())["metadata"]["resourceVersion"] == before


async def test_clients_of_the_mirror(replica: Replica) -> None:
    """What clients do to the spec and the labels comes back, and a mirror stays one; its phase is theirs."""
    body = await replica.mirror()
    body["metadata"]["labels"], body["metadata"]["annotations"] = {"mine": "x"}, {}
    answer = await replica.server.ask("PUT", ONE, short_named(body, "mine"))
    assert (answer.status, answer.json["metadata"]["annotations"]) == (200, {HOST_UID: "uid-102", HOST_REVISION: "102"})
    await replica.until(replica.shows)
    await replica.until(lambda: _annotations(replica.server, NAME).get("note") == "a")

    patch = {"metadata": {"annotations": {PHASE: "Serving", HOST_UID: "other", HOST_REVISION: None}}}
    answer = await replica.server.ask("PATCH", ONE, patch, **MERGE)
    assert answer.json["metadata"]["annotations"] == {"note": "a", PHASE: "Serving", HOST_UID: "uid-102", HOST_REVISION: "102"}
    status = {"metadata": {"annotations": None}, "status": {}}
    await replica.server.ask("PATCH", f"{ONE}/status", status, **MERGE)
    await replica.until(lambda: _annotations(replica.server, NAME).get("note") == "a")
    assert _annotations(replica.server, NAME)[PHASE] == "Serving"


@pytest.mark.parametrize("given", [{"labels": {}}, {"annotations": {HAND_OVER: "true"}}])
async def test_given_back(replica: Replica, given: dict[str, Any]) -> None:
    """A mirror stays and follows when its group is asked back, and none is made for such a definition."""
    await replica.host.put(short_named(crd(**given), "wd"))
    await replica.until(lambda: replica.shows("wd"))
    await replica.host.put(crd("others", "Other", **given))
    await replica.stays()
    assert replica.server.catalog.get("others.example.com") is None

    await replica.server.ask("DELETE", ONE)
    await replica.until(lambda: replica.server.catalog.get(NAME) is None)
    await replica.stays()
    assert replica.server.catalog.get(NAME) is None
    assert replica.source.problems == []


async def test_the_end(replica: Replica) -> None:
    """A definition that terminates on the host ends here too, with its instances; its successor is mirrored after that."""
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "finalizers": ["example.com/x"]}}
    await replica.until(lambda: replica.server.catalog.lookup("example.com", "widgets") is not None)
    await replica.server.ask("PATCH", ONE, {"metadata": {"annotations": {PHASE: "Serving"}}}, **MERGE)
    assert (await replica.server.ask("POST", WIDGETS, widget)).status == 201
    await replica.host.terminate(NAME)
    await replica.until(lambda: (found := replica.server.catalog.get(NAME)) is not None and found.is_terminating)
    await replica.host.remove(NAME)
    await replica.host.put(short_named(crd(), "next"))
    await replica.stays()
    assert replica.source.problems == []

    await replica.server.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": None}}, **MERGE)
    await replica.until(lambda: replica.shows("next"))
    assert _annotations(replica.server, NAME)[HOST_UID] == replica.host.definitions[NAME]["metadata"]["uid"]
    assert (await replica.server.ask("GET", WIDGETS)).json["items"] == []


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


@pytest.mark.parametrize(
    "spec,problem",
    [
        ({"scope": "Wide"}, 'spec.scope: Unsupported value: "Wide"'),
        ({"new": {"field": 1}}, 'unknown field "spec.new"'),
        ({"versions": 5}, "json: cannot unmarshal number into"),
    ],
)
async def test_refused(replica: Replica, spec: dict[str, Any], problem: str) -> None:
    """A spec that is refused here is told until it changes; the mirror stays as it was."""
    bad = crd()
    bad["spec"] |= spec
    await replica.host.put(bad)
    await replica.until(lambda: any(problem in text for text in replica.source.problems))
    assert replica.shows()
    replica.definitions.check()

    await replica.host.put(short_named(crd(), "good"))
    await replica.until(lambda: replica.shows("good"))
    await replica.until(lambda: replica.source.problems == [])


async def test_refused_and_gone(replica: Replica) -> None:
    """Nothing is told any more of a definition that was never taken and is not there any more."""
    bad = crd("others", "Other")
    bad["spec"]["scope"] = "Wide"
    await replica.host.put(bad)
    await replica.until(lambda: bool(replica.source.problems))
    await replica.host.vanish("others.example.com")
    await replica.until(lambda: replica.source.problems == [])


async def test_definitions_of_this_server(host: FakeHost, server: InProcess) -> None:
    """A definition that was here before is left alone and told; when it goes there is room for the mirror."""
    own = definition()
    await server.define(short_named(own, "own"))
    async with Replica(host, server) as replica:
        await replica.until(lambda: bool(replica.source.problems))
        assert replica.source.problems == [f"{NAME}: another definition of this name is here, which is not the host's"]
        assert replica.shows("own")

        await server.ask("DELETE", ONE)
        await replica.until(lambda: HOST_UID in _annotations(server, NAME))
        await replica.until(lambda: replica.source.problems == [])


async def test_files(replica: Replica) -> None:
    """A file does not change a mirror, nor make one."""
    writer = DefinitionWriter(replica.rest)
    with pytest.raises(Exception, match="it is read from the host, and not changed by files"):
        await writer.apply(decoded(short_named(definition(), "file")))
    fake = definition("others", "Other")
    fake["metadata"]["annotations"] = {HOST_UID: "x"}
    with pytest.raises(Exception, match="is for definitions that are read from a host"):
        await writer.apply(decoded(fake))

    assert replica.shows()


async def test_several_servers(replica: Replica) -> None:
    """Servers that follow at once agree; one that lags behind neither undoes what is newer, nor makes what is gone."""
    async with AsyncExitStack() as stack:
        others = [await stack.enter_async_context(Replica(replica.host, replica.server)) for _ in range(3)]
        for number in range(10):
            await replica.host.put(short_named(crd(), f"n{number}"))
        for one in (replica, *others):
            await one.until(lambda: replica.shows("n9"))
            await one.stays()
        assert replica.shows("n9")
        assert (await replica.mirror())["metadata"]["generation"] <= 11

        lagging = others[0].source
        old = lagging._hosts[NAME]
        await replica.host.put(short_named(crd(), "new"))
        await replica.until(lambda: replica.shows("new"))
        for one in (replica, *others):
            await one.until(lambda one=one: one.source._hosts[NAME].revision == replica.host.revision)  # type: ignore[misc]
        lagging._hosts[NAME] = old
        lagging._queue.add(NAME)
        await lagging._queue.join()
        assert replica.shows("new")

        await replica.host.terminate(NAME)
        await replica.host.remove(NAME)
        await replica.until(lambda: replica.server.catalog.get(NAME) is None)
        lagging._hosts[NAME] = old
        lagging._queue.add(NAME)
        await lagging._queue.join()
        assert replica.server.catalog.get(NAME) is None
        assert [problem for one in (replica, *others) for problem in one.source.problems] == []


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
    assert _annotations(replica.server, NAME)[HOST_REVISION] == "10"


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
