"""Definitions of a host are mirrored here, and follow."""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from apiext.meta.host_annotations import HAND_OVER, HOST_REVISION, HOST_UID, PHASE
from apiext.server.definition_files import DefinitionWriter
from tests.support.servers.fake_host import FakeHost
from tests.support.servers.host_follower import NAME, ONE, SERVED, Replica, annotations_of, crd, short_named
from tests.support.servers.in_process import InProcess, definition
from tests.unit.definitions.recorded import decoded

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = {"Content_Type": "application/merge-patch+json"}


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
    await replica.until(lambda: annotations_of(replica.server, NAME).get("note") == "a")

    patch = {"metadata": {"annotations": {PHASE: "Serving", HOST_UID: "other", HOST_REVISION: None}}}
    answer = await replica.server.ask("PATCH", ONE, patch, **MERGE)
    assert answer.json["metadata"]["annotations"] == {"note": "a", PHASE: "Serving", HOST_UID: "uid-102", HOST_REVISION: "102"}
    status = {"metadata": {"annotations": None}, "status": {}}
    await replica.server.ask("PATCH", f"{ONE}/status", status, **MERGE)
    await replica.until(lambda: annotations_of(replica.server, NAME).get("note") == "a")
    assert annotations_of(replica.server, NAME)[PHASE] == "Serving"


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
    assert annotations_of(replica.server, NAME)[HOST_UID] == replica.host.definitions[NAME]["metadata"]["uid"]
    assert (await replica.server.ask("GET", WIDGETS)).json["items"] == []


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
        await replica.until(lambda: HOST_UID in annotations_of(server, NAME))
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
