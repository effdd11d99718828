"""Take-over and hand-over of groups of a real cluster, while clients write and watch."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final

import pytest

from apiext.meta.host_annotations import HAND_OVER, INSTANCES_FINALIZER, REVISION_BASE, SERVE_LABEL
from hack.lib.servers.aggregated_cluster import API_SERVICES, CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION, ApiextOperator
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.builders.stored_objects import multiply
from tests.support.clients.client import Reply
from tests.support.clients.informer import Informer
from tests.support.clients.workers import at_work
from tests.support.clients.writers import PatientWriter, assert_kept

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
OBJECTS: Final = 5000
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AggregatedCluster]:
    """Provide a cluster with its controllers; each test starts its operators."""
    with AggregatedCluster(tmp_path_factory.mktemp("adoption"), selector=SELECTOR, operator=False, operate_args=QUICK_ELECTION) as started:
        yield started


@pytest.fixture
def operator(cluster: AggregatedCluster) -> Iterator[ApiextOperator]:
    """Provide an operator with access to the host's etcd."""
    with cluster.another_operator("with-etcd", f"--host-etcd-servers={cluster.plane.etcd_url}") as started:
        yield started


class Group:
    """A group on the host with definitions."""

    def __init__(self, cluster: AggregatedCluster, name: str, *plurals: str) -> None:
        self.cluster = cluster
        self.name = name
        self.plurals = plurals or ("widgets",)
        self.path = f"/apis/{name}/v1/widgets"
        self.where = f"/apis/{name}/v1/namespaces/default/widgets"
        for plural in self.plurals:
            crd = widget_crd(plural, plural.title()[:-1], group=name)
            (version,) = crd["spec"]["versions"]
            version["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "self.metadata.name != 'never'"}]
            cluster.host.must("POST", CRDS, crd)
        for plural in self.plurals:
            until(lambda plural=plural: cluster.host.ask("GET", f"/apis/{name}/v1/{plural}")[0] == 200)  # type: ignore[misc]

    def change(self, metadata: Json, plural: str = "widgets") -> None:
        """Change a definition's metadata."""
        self.cluster.host.must("PATCH", f"{CRDS}/{plural}.{self.name}", {"metadata": metadata}, MERGE)

    def label(self, plural: str = "widgets", *, value: str | None = "true") -> None:
        """Set or remove the label of a definition."""
        self.change({"labels": {SERVE_LABEL: value}}, plural)

    def condition(self, plural: str = "widgets") -> tuple[str, str, str]:
        """Return status, reason and message of the definition's condition."""
        code, found = self.cluster.host.ask("GET", f"{CRDS}/{plural}.{self.name}")
        for one in found["status"]["conditions"] if code == 200 else ():
            if one["type"] == "ServedByApiext":
                return one["status"], one["reason"], one["message"]
        return "", "", ""

    def until(self, reason: str, *plurals: str) -> None:
        """Wait until the conditions have a reason."""
        for plural in plurals or self.plurals:
            until(lambda plural=plural: self.condition(plural)[1] == reason)  # type: ignore[misc]

    def events(self, reason: str, plural: str = "widgets") -> list[Json]:
        """Return the reasons of the definition's events."""
        found: list[Json] = self.cluster.host.must("GET", "/api/v1/namespaces/default/events")["items"]
        return [one for one in found if (one["involvedObject"]["name"], one["reason"]) == (f"{plural}.{self.name}", reason)]

    def create(self, name: str, **metadata: Any) -> Json:
        """Create an object, and return the host's answer."""
        body = widget(name, group=self.name, metadata=metadata, replicas=1)
        made: Json = self.cluster.host.must("POST", self.where, body)
        return made

    def items(self) -> list[Json]:
        """Return all objects as a client of the host lists them."""
        found: list[Json] = self.cluster.host.must("GET", self.path)["items"]
        return found

    def revision(self) -> int:
        """Return the resourceVersion of a list through the host."""
        return int(self.cluster.host.must("GET", f"{self.path}?limit=1")["metadata"]["resourceVersion"])

    @property
    def leftovers(self) -> list[str]:
        """Return what apiext has left on the host and in its own store."""
        host = self.cluster.host
        found = self.cluster.keys(self.cluster.etcd.url, f"/{self.name}/") + self.cluster.keys(self.cluster.etcd.url, f".{self.name}")
        found += [POLICIES] if host.ask("GET", f"{POLICIES}/apiext-{self.name}")[0] == 200 else []
        code, service = host.ask("GET", f"{API_SERVICES}/v1.{self.name}")
        found += [API_SERVICES] if code == 200 and service["spec"].get("service") else []
        code, crd = host.ask("GET", f"{CRDS}/widgets.{self.name}")
        return found + [one for one in (crd["metadata"].get("finalizers") or () if code == 200 else ()) if one == INSTANCES_FINALIZER]


def plain(items: list[Json], prefix: str = "") -> list[Json]:
    """Return objects without resourceVersion whose names have a prefix."""
    chosen = [item for item in items if item["metadata"]["name"].startswith(prefix)]
    return [{**item, "metadata": {**item["metadata"], "resourceVersion": ""}} for item in chosen]


def is_denied(reply: Reply) -> bool:
    """Return whether the host's policy or apiext denies a write temporarily."""
    return reply.status == 429 or (reply.status == 403 and b"apiext serves group" in reply.body)


def writers(group: Group, count: int = 3) -> AbstractContextManager[list[PatientWriter]]:
    """Run clients that write through the host."""
    version = f"{group.name}/v1"
    return at_work(
        [
            PatientWriter(group.cluster.plane, group.where, f"w{index}-{time.monotonic_ns()}", api_version=version, refusal=is_denied)
            for index in range(count)
        ]
    )


def wait_for_writes(found: list[PatientWriter], count: int = 30) -> None:
    """Wait until all writers have made more writes."""
    for writer in found:
        writer.wait(count)


def written(group: Group) -> list[Json]:
    """Return the acknowledged writes."""
    return [item for item in group.items() if item["metadata"]["name"].startswith("w")]


def test_moves_a_group_to_apiext_and_back(cluster: AggregatedCluster, operator: ApiextOperator) -> None:
    """Move a group with many objects to apiext and back while clients write and watch, and its operator is killed."""
    group = Group(cluster, "many.example.com")
    first = group.create("o-first")
    multiply(cluster.plane.etcd_url, f"/registry/{group.name}/widgets/default/o-first", (f"o-{number:04}" for number in range(OBJECTS - 1)))
    owner = cluster.host.must("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    group.create("child", ownerReferences=[reference])
    before, old = plain(group.items(), "o-"), group.revision()
    assert len(before) == OBJECTS
    assert first["metadata"]["uid"] in {item["metadata"]["uid"] for item in before}

    with ExitStack() as stack:
        informers = [stack.enter_context(Informer(cluster.plane, group.path)) for _ in range(2)]
        with writers(group) as busy:
            wait_for_writes(busy, 5)
            group.label()
            until(lambda: bool(cluster.keys(cluster.etcd.url, f"/{group.name}/widgets/default/o-")))
            operator.kill()
            assert group.condition()[0] != "True"
            operator.start()
            group.until("Serving")
            wait_for_writes(busy)
        assert_kept(list(busy), written(group))
        assert any(writer.refused for writer in busy)
        assert_served(group, before, old)
        follow(group, informers)

        with writers(group) as busy:
            wait_for_writes(busy, 5)
            group.change({"annotations": {HAND_OVER: "true"}})
            group.until("HandedOver")
            wait_for_writes(busy)
        assert_kept(list(busy), [item for item in written(group) if item["metadata"]["name"] in {n for w in busy for n in w.held}])
        assert group.revision() < REVISION_BASE
        assert plain(group.items(), "o-") == before
        assert group.leftovers == []
        follow(group, informers)

    cluster.host.must("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    # the garbage collector still does its work
    until(lambda: cluster.host.ask("GET", f"{group.where}/child")[0] == 404)


def assert_served(group: Group, before: list[Json], old: int) -> None:
    """Assert that apiext serves the same objects from its own etcd, and the host's revisions have expired."""
    cluster = group.cluster
    assert plain(group.items(), "o-") == before
    assert group.revision() > REVISION_BASE
    assert len(cluster.keys(cluster.etcd.url, f"/registry/{group.name}/widgets/default/o-")) == OBJECTS
    code, answer = cluster.host.ask("GET", f"{group.path}?resourceVersion={old}&resourceVersionMatch=Exact")
    assert (code, answer["reason"]) == (410, "Expired")
    code, answer = cluster.host.ask("GET", f"{group.path}?watch=true&resourceVersion={old}")
    assert '"code":410' in str(answer).replace(" ", "") or code == 410 or answer["object"]["code"] == 410
    assert cluster.host.ask("POST", group.where, widget("o-x", group=group.name))[0] == 201
    cluster.host.must("DELETE", f"{group.where}/o-x")


def follow(group: Group, informers: list[Informer]) -> None:
    """Wait until informers hold the present objects."""
    items = group.items()
    for informer in informers:
        informer.wait_equal(items, timeout=60)


@pytest.mark.usefixtures("operator")
def test_moves_all_definitions_together(cluster: AggregatedCluster) -> None:
    """Move a group only while all its definitions have the label."""
    group = Group(cluster, "two.example.com", "widgets", "gadgets")
    group.create("one")
    group.label("widgets")
    group.until("Blocked", "widgets")
    assert "gadgets.two.example.com" in group.condition("widgets")[2]
    assert group.revision() < REVISION_BASE

    group.label("gadgets")
    group.until("Serving")
    assert group.revision() > REVISION_BASE
    before = plain(group.items())

    group.label("gadgets", value=None)
    group.until("Blocked", "widgets")
    group.until("HandedOver", "gadgets")
    assert group.revision() < REVISION_BASE
    assert plain(group.items()) == before


@pytest.mark.usefixtures("operator")
def test_keeps_writes_during_the_transition(cluster: AggregatedCluster) -> None:
    """Keep the last acknowledged write to an object across the transition."""
    group = Group(cluster, "moment.example.com")
    group.create("one")
    ended, acknowledged, codes = threading.Event(), [0], set()

    def count() -> None:
        while not ended.is_set():
            value = acknowledged[-1] + 1
            code, _ = cluster.host.ask("PATCH", f"{group.where}/one", {"spec": {"replicas": value}}, MERGE)
            codes.add(code)
            if code == 200:
                acknowledged.append(value)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        until(lambda: len(acknowledged) > 20)
        group.label()
        group.until("Serving")
        done = len(acknowledged)
        until(lambda: len(acknowledged) > done + 20)
    finally:
        ended.set()
        thread.join(60)

    assert codes == {200, 403}
    assert cluster.host.must("GET", f"{group.where}/one")["spec"]["replicas"] == acknowledged[-1]
    assert cluster.host.must("GET", f"{group.where}/one")["metadata"]["generation"] == acknowledged[-1]


@pytest.mark.usefixtures("operator")
def test_aborts_the_take_over(cluster: AggregatedCluster) -> None:
    """Abort the take-over when the label is removed early; the host keeps serving, and nothing is left on it."""
    group = Group(cluster, "turned.example.com")
    before = plain([group.create(f"o{number}") for number in range(20)])
    group.label()
    until(lambda: bool(group.condition()[1]))
    group.label(value=None)

    group.until("HandedOver")

    until(lambda: group.leftovers == [])
    assert sorted(plain(group.items()), key=str) == sorted(before, key=str)
    group.create("later")


@pytest.mark.usefixtures("operator")
def test_deletes_an_adopted_definition(cluster: AggregatedCluster) -> None:
    """Delete an adopted definition after the finalizers of its objects, and leave no copies on the host."""
    group = Group(cluster, "deleted.example.com")
    group.create("kept", finalizers=["example.com/kept"])
    group.create("plain")
    group.label()
    group.until("Serving")
    assert group.condition()[2] == "apiext serves the group"
    assert not group.events("NotEnforced")

    cluster.host.must("DELETE", f"{CRDS}/widgets.{group.name}")
    until(lambda: [item["metadata"]["name"] for item in group.items()] == ["kept"])
    cluster.host.must("PATCH", f"{group.where}/kept", {"metadata": {"finalizers": None}}, MERGE)

    until(lambda: cluster.host.ask("GET", f"{CRDS}/widgets.{group.name}")[0] == 404)
    until(lambda: group.leftovers == [])
    assert cluster.keys(cluster.plane.etcd_url, f"/{group.name}/") == []


def test_hands_over_without_etcd_if_unchanged(cluster: AggregatedCluster) -> None:
    """Hand over an unchanged group without the host's etcd, and report the remedy for a changed one."""
    changed, same = Group(cluster, "changed.example.com"), Group(cluster, "same.example.com")
    with cluster.another_operator("without-etcd"):
        for group in (changed, same):
            group.create("one", finalizers=["example.com/kept"])
            group.label()
        before = plain(same.items())
        for group in (changed, same):
            group.until("Serving")
        changed.create("two")
        for group in (changed, same):
            group.label(value=None)

        changed.until("HandOverBlocked")
        assert "--host-etcd-servers" in changed.condition()[2]
        assert changed.revision() > REVISION_BASE
        changed.create("three")
        same.until("HandedOver")
        assert same.revision() < REVISION_BASE
        assert plain(same.items()) == before

        cluster.host.must("DELETE", f"{CRDS}/widgets.{changed.name}")
        cluster.host.must("PATCH", f"{changed.where}/one", {"metadata": {"finalizers": None}}, MERGE)
        until(lambda: cluster.host.ask("GET", f"{CRDS}/widgets.{changed.name}")[0] == 404)
        until(lambda: changed.leftovers == [])
