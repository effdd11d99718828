"""Tests of garbage collection beside a reference with kube-controller-manager."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.cases.garbage import (
    API_VERSIONS,
    SCENARIOS,
    Act,
    Change,
    Delete,
    Own,
    Thing,
    Wait,
    definitions,
    full_name,
    path,
)

pytestmark = pytest.mark.slow
NAMESPACES: Final = "/api/v1/namespaces"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONTROLLERS: Final = "garbage-collector-controller,namespace-controller"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers with the definitions, then the reference's controllers, which look for kinds twice a minute."""
    folder = tmp_path_factory.mktemp("collected")
    with (
        ControlPlane(folder / "reference", durable=False) as plane,
        ApiextServer(folder / "apiext", extra_args=["--builtin-kinds"]) as server,
        closing(Pair(plane, server)) as pair,
    ):
        for side in (pair.reference, pair.ours):
            for definition in definitions():
                must(side, "POST", DEFINITIONS, definition)
                until(lambda side=side, name=definition["metadata"]["name"]: is_established(side, name))  # type: ignore[misc]
        controllers = plane.controllers(f"--controllers={CONTROLLERS}")
        controllers.start()
        yield pair
        controllers.stop()


def ask(side: Side, method: str, at: str, body: Any = None) -> tuple[int, Any]:
    """Return status and body of a response."""
    response, data = side.raw(Step(method, at, body))
    return response.status, json.loads(data)


def must(side: Side, method: str, at: str, body: Any = None) -> Any:
    """Return the body of the response to a request that succeeds."""
    code, answer = ask(side, method, at, body)
    assert code < 300, (method, at, answer)
    return answer


def is_established(side: Side, name: str) -> bool:
    """Report whether a definition is served."""
    conditions = must(side, "GET", f"{DEFINITIONS}/{name}").get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


class World:
    """The objects of a scenario on one server."""

    def __init__(self, side: Side, namespace: str) -> None:
        self.side = side
        self.namespace = namespace
        self.uids: dict[str, str] = {}
        self.beside: set[str] = set()
        for name in (namespace, f"{namespace}-beside"):
            must(side, "POST", NAMESPACES, {"metadata": {"name": name}})

    def act(self, act: Act) -> None:
        """Send the request of a step, or wait."""
        if isinstance(act, Thing):
            if act.beside:
                self.beside.add(act.name)
            made = must(self.side, "POST", self._path(act.name).rpartition("/")[0], act.body(self.namespace, self._references(act.owners)))
            self.uids.setdefault(act.name, made["metadata"]["uid"])
        elif isinstance(act, Delete):
            must(self.side, "DELETE", self._path(act.name), {"propagationPolicy": act.policy})
        elif isinstance(act, Change):
            owners = {} if act.owners is None else {"ownerReferences": self._references(act.owners)}
            must(self.side, "PATCH", self._path(act.name), {"metadata": {**act.metadata, **owners}})
        else:
            until(lambda: self.matches(act), f"{act} in {self.namespace} of {self.side.url}: {self.states()}")

    def matches(self, wait: Wait) -> bool:
        """Report whether the objects have the wanted states."""
        return all(self._remains(name) is wanted for name, wanted in wait.ends.items())

    def _remains(self, name: str) -> bool | None:
        code, found = ask(self.side, "GET", self._path(name))
        if code == 404:
            return False
        return None if "deletionTimestamp" in found["metadata"] else True

    def states(self) -> dict[str, Any]:
        """Return what became of each object, without what differs between servers."""
        return {name: self._state(name) for name in self.uids}

    def _state(self, name: str) -> Any:
        code, found = ask(self.side, "GET", self._path(name))
        if code == 404:
            return None
        metadata = found["metadata"]
        kept = {member: metadata.get(member) for member in ("ownerReferences", "finalizers", "generation")}
        managers = [{key: one[key] for key in ("manager", "operation", "fieldsV1")} for one in metadata.get("managedFields", ())]
        text = json.dumps({**kept, "managers": managers, "deleting": "deletionTimestamp" in metadata}, sort_keys=True)
        for named, uid in self.uids.items():
            text = text.replace(uid, f"uid of {named}")
        return json.loads(text)

    def _path(self, name: str) -> str:
        return path(name, f"{self.namespace}-beside" if name in self.beside else self.namespace)

    def _references(self, owners: Any) -> list[dict[str, Any]]:
        return [self._reference(one) for one in owners]

    def _reference(self, own: Own) -> dict[str, Any]:
        kind, _, short = own.of.partition("/")
        api_version, named = API_VERSIONS[own.kind or kind]
        name = own.name or full_name(kind, short, self.namespace)
        reference = {"apiVersion": api_version, "kind": named, "name": name, "uid": own.uid or self.uids[own.of]}
        return reference if own.blocks is None else {**reference, "blockOwnerDeletion": own.blocks}


def _settled(worlds: list[World]) -> None:
    """Wait until what happens last in each world is done."""
    for world in worlds:
        for act in (Thing("cm/last-owner"), Thing("cm/last", [Own("cm/last-owner")]), Delete("cm/last-owner")):
            world.act(act)
        world.act(Wait({"cm/last": False, "cm/last-owner": False}))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(collected: Pair, scenario: str) -> None:
    """Delete, keep and change the same objects as the reference."""
    namespace = scenario.replace(" ", "-")
    worlds = [World(side, namespace) for side in (collected.reference, collected.ours)]

    for act in SCENARIOS[scenario]:
        for world in worlds:
            world.act(act)
    _settled(worlds)

    reference, ours = (world.states() for world in worlds)
    last = SCENARIOS[scenario][-1]
    assert isinstance(last, Wait)
    assert all(world.matches(last) for world in worlds)
    assert ours == reference


@pytest.mark.parametrize("beside", [True, False])
def test_events(collected: Pair, *, beside: bool) -> None:
    """Record the reference's event about an owner that is in another namespace, or in one at all."""
    namespace = f"events-{beside}".lower()
    worlds = [World(side, namespace) for side in (collected.reference, collected.ours)]
    dependent = Thing("widget/b", [Own("cm/a")], beside=True) if beside else Thing("plan/b", [Own("cm/a")])
    place = f"{namespace}-beside" if beside else "default"
    found = []

    for world in worlds:
        world.act(Thing("cm/a"))
        world.act(dependent)
        until(lambda world=world: bool(events(world, place)), f"an event in {place} of {world.side.url}")  # type: ignore[misc]
        found.append(events(world, place))

    assert found[0] == found[1]


def events(world: World, namespace: str) -> list[Any]:
    """Return the collector's events about the objects of a world, without times and names."""
    items = must(world.side, "GET", f"/api/v1/namespaces/{namespace}/events")["items"]
    text = json.dumps([one for one in items if world.namespace in json.dumps(one["involvedObject"])], sort_keys=True)
    for named, uid in world.uids.items():
        text = text.replace(uid, f"uid of {named}")
    found: list[Any] = json.loads(text)
    for one in found:
        for member in ("metadata", "firstTimestamp", "lastTimestamp"):
            del one[member]
    return found
