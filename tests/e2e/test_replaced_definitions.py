"""Definitions of adopted groups that clients replace and delete in any order, on a real cluster."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from apiext.base.meta.host_annotations import HAND_OVER, INSTANCES_FINALIZER, SERVE_LABEL, SERVICE
from hack.lib.servers.aggregated_cluster import CRDS, NAMESPACE, SELECTOR, AggregatedCluster
from hack.lib.servers.aggregated_cluster import SERVICE as NAME
from hack.lib.servers.apiext_operator import QUICK_ELECTION, ApiextOperator
from hack.lib.waiting import until
from tests.e2e.adopted_group import MERGE, Group, Json
from tests.support.builders.crds import widget_crd
from tests.support.builders.seeds import seeded
from tests.support.clients.workers import PACE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
KEPT: Final = "example.com/kept"
EVENTS: Final = "/api/v1/namespaces/default/events"
STEPS: Final = 10


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AggregatedCluster]:
    """Provide a cluster; each test starts its operators."""
    with AggregatedCluster(tmp_path_factory.mktemp("replaced"), selector=SELECTOR, operator=False, operate_args=QUICK_ELECTION) as started:
        yield started


def replace(group: Group, *, labelled: bool) -> None:
    """Replace the definition as `kubectl replace` does with a manifest that has nothing of the operator."""
    path = f"{CRDS}/widgets.{group.name}"
    manifest = widget_crd(group=group.name)
    manifest["metadata"]["labels"] = {SERVE_LABEL: "true"} if labelled else {}

    def replaced() -> bool:
        manifest["metadata"]["resourceVersion"] = group.crd["metadata"]["resourceVersion"]
        return group.cluster.host.ask("PUT", path, manifest)[0] == 200

    until(replaced)


def is_held(group: Group) -> bool:
    """Return whether the definition has what the operator writes while apiext has the objects."""
    metadata = group.crd["metadata"]
    service = (metadata.get("annotations") or {}).get(SERVICE)
    return INSTANCES_FINALIZER in metadata.get("finalizers", ()) and service == f"{NAMESPACE}/{NAME}"


def events(group: Group, reason: str) -> list[str]:
    """Return the messages of events about the definition."""
    selector = f"?fieldSelector=involvedObject.name%3Dwidgets.{group.name},reason%3D{reason}"
    return [one["message"] for one in group.cluster.host.must("GET", f"{EVENTS}{selector}")["items"]]


def has_definition(group: Group) -> bool:
    """Return whether the host has the definition."""
    return bool(group.cluster.host.ask("GET", f"{CRDS}/widgets.{group.name}")[0] == 200)


def shown(group: Group) -> set[str]:
    """Return the names of the objects that a client lists, none if it gets an error."""
    code, answer = group.cluster.host.ask("GET", group.path)
    return {one["metadata"]["name"] for one in answer["items"]} if code == 200 else set()


def assert_nothing_left(group: Group) -> None:
    """Wait until nothing is left of a deleted definition on both sides."""
    until(lambda: not has_definition(group), "the end of the definition")
    until(lambda: group.leftovers == [] and group.cluster.keys(group.cluster.plane.etcd_url, f"/{group.name}/widgets/") == [])


class Objects:
    """The acknowledged objects of a group: the names of all, and of those with a finalizer."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.present: set[str] = set()
        self.kept: set[str] = set()
        self.ended: set[str] = set()
        self.stripped: set[str] = set()
        self.faults: list[str] = []

    def create(self, name: str, *, kept: bool) -> None:
        """Create an object, as soon as it is possible."""
        body: Json = {"apiVersion": f"{self._group.name}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"replicas": 1}}
        body["metadata"]["finalizers"] = [KEPT] if kept else []
        until(lambda: self._group.cluster.host.ask("POST", self._group.where, body)[0] in {201, 409})
        self.present.add(name)
        if kept:
            self.kept.add(name)

    def strip(self, name: str) -> None:
        """Remove the finalizer of an object, as soon as it is possible."""
        path = f"{self._group.where}/{name}"
        until(lambda: self._group.cluster.host.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)[0] in {200, 404})
        self.kept.discard(name)
        self.stripped.add(name)

    def remove(self, name: str) -> None:
        """Delete an object without a finalizer, as soon as it is possible."""
        path = f"{self._group.where}/{name}"
        until(lambda: self._group.cluster.host.ask("DELETE", path)[0] in {200, 404})
        self.present.discard(name)
        self.ended.add(name)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Let a client list all the time; it must never see what has ended before its request."""
        stop = threading.Event()

        def look() -> None:
            while not stop.wait(PACE):
                ended, stripped = set(self.ended), set(self.stripped)
                code, answer = self._group.cluster.host.ask("GET", self._group.path)
                for one in answer.get("items", ()) if code == 200 else ():
                    name = one["metadata"]["name"]
                    if name in ended or (name in stripped and one["metadata"].get("finalizers")):
                        self.faults.append(f"{name} is an old copy: {one['metadata']}")

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(60)
        assert self.faults == []


def filled(group: Group, count: int = 6) -> Objects:
    """Create objects, half of them with a finalizer."""
    found = Objects(group)
    for number in range(count):
        found.create(f"o{number}", kept=bool(number % 2))
    return found


@contextmanager
def served(cluster: AggregatedCluster, name: str, operator: str, *arguments: str) -> Iterator[tuple[Group, Objects]]:
    """Let an operator adopt a group whose objects then change, and watch them."""
    group = Group(cluster, name)
    objects = filled(group)
    with cluster.another_operator(operator, *arguments):
        group.label()
        group.until("Serving")
        objects.strip("o1")
        objects.remove("o0")
        with objects.watched():
            yield group, objects


def test_goes_on_serving_a_replaced_definition(cluster: AggregatedCluster) -> None:
    """Restore what a replacement removed, say so, and end the deletion of a definition that is replaced once more."""
    with served(cluster, "replaced.example.com", "without-etcd") as (group, objects):
        replace(group, labelled=False)
        group.until("HandOverBlocked")
        until(lambda: is_held(group))
        assert any(INSTANCES_FINALIZER in message for message in events(group, "Repaired"))
        assert group.condition()[0] == "True"

        group.label()
        group.until("Serving")
        replace(group, labelled=True)
        until(lambda: is_held(group))
        assert group.condition()[:2] == ("True", "Serving")

        replace(group, labelled=False)
        cluster.host.must("DELETE", f"{CRDS}/widgets.{group.name}")
        until(lambda: shown(group) == objects.kept)
        for name in sorted(objects.kept):
            objects.strip(name)
        assert_nothing_left(group)


def test_hands_over_a_replaced_definition(cluster: AggregatedCluster) -> None:
    """Hand a group over whose definition was replaced, and say so on it."""
    with served(cluster, "handed.example.com", "with-etcd", f"--host-etcd-servers={cluster.plane.etcd_url}") as (group, objects):
        replace(group, labelled=False)
        group.until("HandedOver")
        until(lambda: group.leftovers == [])
    assert shown(group) == objects.present


def test_deletes_one_of_several_definitions_without_etcd(cluster: AggregatedCluster) -> None:
    """Delete a definition with old copies that have finalizers, while apiext goes on serving another one of the group."""
    group = Group(cluster, "several.example.com", "widgets", "gadgets")
    objects = filled(group)
    with cluster.another_operator("several"), objects.watched():
        for plural in group.plurals:
            group.label(plural)
        group.until("Serving")
        cluster.host.must("DELETE", f"{CRDS}/widgets.{group.name}")
        until(lambda: shown(group) == objects.kept)
        for name in sorted(objects.kept):
            objects.strip(name)
        until(lambda: not has_definition(group), "the end of the definition")
        until(lambda: cluster.keys(cluster.plane.etcd_url, f"/{group.name}/widgets/") == [])
        assert group.condition("gadgets")[:2] == ("True", "Serving")
        assert cluster.proxied(f"v1.{group.name}")


@pytest.mark.parametrize("etcd", [False, True])
def test_comes_to_the_promised_state_in_any_order(cluster: AggregatedCluster, etcd: bool) -> None:  # noqa: FBT001
    """Serve, hand over and delete as requested, whatever clients do to the definition meanwhile, with operators that are killed."""
    group = Group(cluster, f"order-{etcd}.example.com".lower())
    objects, choices = filled(group), seeded(etcd)
    flags = [f"--host-etcd-servers={cluster.plane.etcd_url}"] if etcd else []
    with cluster.another_operator(f"order-{etcd}", *flags) as operator, objects.watched():
        for number in range(STEPS):
            disturb(group, objects, operator, choices, f"n{number}")
        if operator.process.running:
            operator.stop()
        operator.start()
        replace(group, labelled=True)
        group.until("Serving")
        until(lambda: is_held(group))
        until(lambda: shown(group) == objects.present)
        cluster.host.must("DELETE", f"{CRDS}/widgets.{group.name}")
        for name in sorted(objects.kept):
            objects.strip(name)
        assert_nothing_left(group)


def disturb(group: Group, objects: Objects, operator: ApiextOperator, choices: Any, name: str) -> None:
    """Do one of the things that may happen to an adopted group."""
    action = choices.choice(("label", "unlabel", "replace", "replace", "annotate", "apply", "restart", "write", "write"))
    if action in {"label", "unlabel"}:
        group.label(value="true" if action == "label" else None)
    elif action == "replace":
        replace(group, labelled=choices.random() < 0.5)
    elif action == "annotate":
        group.change({"metadata": {"annotations": {HAND_OVER: choices.choice(("true", None))}}})
    elif action == "apply":
        group.change({"metadata": {"annotations": {"example.com/applied": name}}})
    elif action == "restart":
        operator.kill()
        operator.start()
    else:
        objects.create(name, kept=choices.random() < 0.5)
        objects.strip(name)
        objects.remove(name)
