"""Mirrors of the host's definitions."""

import copy
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from apiext.base.meta.host_annotations import ADOPTION_CATEGORY, HAND_OVER, HOST_REVISION, HOST_UID, PHASE
from apiext.server.definition_files import DefinitionFiles
from tests.support.builders.crds import versions_like, widget, widget_crd
from tests.support.event_loop import until
from tests.support.servers.fake_host import COLLECTION, FakeHost
from tests.support.servers.host_follower import NAME, ONE, SERVED, Replica, annotations_of, crd, short_named
from tests.support.servers.in_process import InProcess
from tests.unit.resources.definitions.recorded import decoded

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = {"Content_Type": "application/merge-patch+json"}


async def test_mirrors_selected_definitions(replica: Replica) -> None:
    """Serve a selected definition with its labels and annotations, without those of apiext and kubectl."""
    await until(lambda: replica.server.catalog.lookup("example.com", "widgets") is not None)
    metadata = (await replica.mirror())["metadata"]

    assert metadata["labels"] == SERVED | {"a": "b"}
    assert metadata["annotations"] == {"note": "a", HOST_UID: "uid-102", HOST_REVISION: "102"}
    assert [found.name for found in replica.server.catalog.all()] == [NAME]
    assert replica.source.names == [NAME]
    assert (replica.source.problems, replica.definitions.remarks()) == ([], [])


async def test_updates_the_mirror(replica: Replica) -> None:
    """Update spec, labels and annotations; keep the phase and other annotations of apiext."""
    await replica.server.ask("PATCH", ONE, {"metadata": {"annotations": {PHASE: "Serving"}}}, **MERGE)
    changed = short_named(crd(annotations={"note": "b", PHASE: "Frozen"}), "wd")
    await replica.host.put(changed)
    await until(lambda: replica.shows("wd"))

    metadata = (await replica.mirror())["metadata"]
    assert metadata["labels"] == SERVED
    assert metadata["annotations"] == {"note": "b", PHASE: "Serving", HOST_UID: "uid-102", HOST_REVISION: "103"}
    assert metadata["generation"] == 2


def _with_condition(found: dict[str, Any]) -> None:
    found["status"] = {"conditions": []}


def _in_category(found: dict[str, Any]) -> None:
    found["spec"]["names"]["categories"] = [ADOPTION_CATEGORY]


@pytest.mark.parametrize("change", [_with_condition, _in_category])
async def test_skips_irrelevant_changes(replica: Replica, change: Callable[[dict[str, Any]], None]) -> None:
    """Write nothing for a change outside spec, labels and annotations, nor for the category that ends watches of the host."""
    before = (await replica.mirror())["metadata"]["resourceVersion"]
    changed = copy.deepcopy(replica.host.definitions[NAME])
    change(changed)
    await replica.host.put(changed)
    await replica.wait_for_later_change()

    assert (await replica.mirror())["metadata"]["resourceVersion"] == before


async def test_mirrors_other_categories(replica: Replica) -> None:
    """Mirror all categories but the one that ends watches of the host."""
    changed = short_named(crd(), "wd")
    changed["spec"]["names"]["categories"] = ["all", ADOPTION_CATEGORY, "mine"]
    await replica.host.put(changed)
    await until(lambda: replica.shows("wd"))

    assert (await replica.mirror())["spec"]["names"]["categories"] == ["all", "mine"]


async def test_reverts_changes_of_clients(replica: Replica) -> None:
    """Revert changes of clients to spec and labels, but not to the phase."""
    body = await replica.mirror()
    body["metadata"]["labels"], body["metadata"]["annotations"] = {"mine": "x"}, {}
    answer = await replica.server.ask("PUT", ONE, short_named(body, "mine"))
    assert (answer.status, answer.json["metadata"]["annotations"]) == (200, {HOST_UID: "uid-102", HOST_REVISION: "102"})
    await until(replica.shows)
    await until(lambda: annotations_of(replica.server, NAME).get("note") == "a")

    patch = {"metadata": {"annotations": {PHASE: "Serving", HOST_UID: "other", HOST_REVISION: None}}}
    answer = await replica.server.ask("PATCH", ONE, patch, **MERGE)
    assert answer.json["metadata"]["annotations"] == {"note": "a", PHASE: "Serving", HOST_UID: "uid-102", HOST_REVISION: "102"}
    status = {"metadata": {"annotations": None}, "status": {}}
    await replica.server.ask("PATCH", f"{ONE}/status", status, **MERGE)
    await until(lambda: annotations_of(replica.server, NAME).get("note") == "a")
    assert annotations_of(replica.server, NAME)[PHASE] == "Serving"


def _with_versions(*names: str) -> dict[str, Any]:
    found = crd()
    found["spec"]["versions"] = versions_like(*names)(found["spec"]["versions"][0])
    return found


async def test_keeps_dropped_versions_with_objects(replica: Replica) -> None:
    """Keep a version that the host has dropped, without serving it, until it is removed from the mirror's stored versions."""

    def versions() -> list[tuple[str, bool, bool]]:
        found = replica.server.catalog.get(NAME)
        assert found is not None
        return [(version.name, version.served, version.storage) for version in found.versions]

    await until(replica.shows)
    await replica.host.put(_with_versions("v2"))
    await until(lambda: versions() == [("v2", True, True), ("v1", False, False)])
    await replica.host.put(_with_versions("v3", "v2"))
    await until(lambda: versions() == [("v3", True, True), ("v2", True, False), ("v1", False, False)])
    assert (await replica.mirror())["status"]["storedVersions"] == ["v1", "v2", "v3"]
    assert replica.source.problems == []

    await replica.server.ask("PATCH", f"{ONE}/status", {"status": {"storedVersions": ["v2", "v3"]}}, **MERGE)
    await until(lambda: versions() == [("v3", True, True), ("v2", True, False)])


@pytest.mark.parametrize("given", [{"labels": {}}, {"annotations": {HAND_OVER: "true"}}])
async def test_updates_a_returned_mirror(replica: Replica, given: dict[str, Any]) -> None:
    """Keep and update the mirror of a group that is given back, and create none for it."""
    await replica.host.put(short_named(crd(**given), "wd"))
    await until(lambda: replica.shows("wd"))
    await replica.host.put(crd("others", "Other", **given))
    await replica.wait_for_later_change()
    assert replica.server.catalog.get("others.example.com") is None

    await replica.server.ask("DELETE", ONE)
    await until(lambda: replica.server.catalog.get(NAME) is None)
    await replica.wait_for_later_change()
    assert replica.server.catalog.get(NAME) is None
    assert replica.source.problems == []


async def test_deletes_the_mirror(replica: Replica) -> None:
    """Delete the mirror and its instances when the definition terminates on the host, then mirror its successor."""
    await until(lambda: replica.server.catalog.lookup("example.com", "widgets") is not None)
    await replica.server.ask("PATCH", ONE, {"metadata": {"annotations": {PHASE: "Serving"}}}, **MERGE)
    assert (await replica.server.ask("POST", WIDGETS, widget(metadata={"finalizers": ["example.com/x"]}))).status == 201
    await replica.host.terminate(NAME)
    await until(lambda: (found := replica.server.catalog.get(NAME)) is not None and found.is_terminating)
    await replica.host.remove(NAME)
    await replica.host.put(short_named(crd(), "next"))
    await replica.wait_for_later_change()
    assert replica.source.problems == []

    await replica.server.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": None}}, **MERGE)
    await until(lambda: replica.shows("next"))
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
async def test_reports_an_invalid_spec(replica: Replica, spec: dict[str, Any], problem: str) -> None:
    """Report a spec that fails validation until it changes, and keep the mirror unchanged."""
    bad = crd()
    bad["spec"] |= spec
    await replica.host.put(bad)
    await until(lambda: any(problem in text for text in replica.source.problems))
    assert replica.shows()
    replica.definitions.check()

    await replica.host.put(short_named(crd(), "good"))
    await until(lambda: replica.shows("good"))
    await until(lambda: replica.source.problems == [])


async def test_forgets_a_removed_problem(replica: Replica) -> None:
    """Report no problem for a definition that was never mirrored and is removed."""
    bad = crd("others", "Other")
    bad["spec"]["scope"] = "Wide"
    await replica.host.put(bad)
    await until(lambda: bool(replica.source.problems))
    await replica.host.drop_history("others.example.com")
    await until(lambda: replica.source.problems == [])


async def test_keeps_own_definitions(host: FakeHost, server: InProcess) -> None:
    """Keep and report a definition that is no mirror; mirror the host's after its deletion."""
    own = widget_crd()
    await server.define(short_named(own, "own"))
    async with Replica(host, server) as replica:
        await until(lambda: bool(replica.source.problems))
        assert replica.source.problems == [f"{NAME}: a definition of this name exists in apiext that does not mirror the host's"]
        assert replica.shows("own")

        await server.ask("DELETE", ONE)
        await until(lambda: HOST_UID in annotations_of(server, NAME))
        await until(lambda: replica.source.problems == [])


async def test_rejects_files_for_mirrors(replica: Replica) -> None:
    """Reject a definition file that changes or creates a mirror."""
    server = replica.server
    files = DefinitionFiles(server.definitions.scopes[""], server.workers, server.catalog, server.stores.stored_versions, migrates=False)
    with pytest.raises(Exception, match="it is a mirror of a host definition, and cannot be changed by files"):
        await files.apply(decoded(short_named(widget_crd(), "file")))
    fake = widget_crd("others", "Other")
    fake["metadata"]["annotations"] = {HOST_UID: "x"}
    with pytest.raises(Exception, match="is reserved for mirrors of host definitions"):
        await files.apply(decoded(fake))

    assert replica.shows()


async def _show(lagging: Replica, old: dict[str, Any]) -> None:
    """Let a replica have an old state, for which it asks the host, and process it."""
    path = f"{COLLECTION}/{NAME}"
    before = lagging.host.asked.count(path)
    lagging.source.changed(old)
    await until(lambda: lagging.host.asked.count(path) > before)
    await lagging.wait_for_later_change()


async def test_several_servers_agree(replica: Replica) -> None:
    """Agree between servers; one that lags behind neither reverts a newer state nor creates a deleted mirror."""
    async with AsyncExitStack() as stack:
        others = [await stack.enter_async_context(Replica(replica.host, replica.server)) for _ in range(3)]
        for number in range(10):
            await replica.host.put(short_named(crd(), f"n{number}"))
        for one in (replica, *others):
            await until(lambda: replica.shows("n9"))
            await one.wait_for_later_change()
        assert replica.shows("n9")
        assert (await replica.mirror())["metadata"]["generation"] <= 11

        old = copy.deepcopy(replica.host.definitions[NAME])
        await replica.host.put(short_named(crd(), "new"))
        await until(lambda: replica.shows("new"))
        for one in (replica, *others):
            await one.wait_for_later_change()
        await _show(others[0], old)
        assert replica.shows("new")

        await replica.host.terminate(NAME)
        await replica.host.remove(NAME)
        await until(lambda: replica.server.catalog.get(NAME) is None)
        await _show(others[0], old)
        assert replica.server.catalog.get(NAME) is None
        assert [problem for one in (replica, *others) for problem in one.source.problems] == []
