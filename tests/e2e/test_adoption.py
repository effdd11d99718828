"""Take-over and hand-over of groups of a real cluster, while clients write and watch."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final

import pytest

from apiext.base.meta.host_annotations import HOLD_MESSAGE, REVISION_BASE, STORED_VERSIONS_CONDITION
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_operator import QUICK_ELECTION, ApiextOperator
from hack.lib.servers.kubectl import Kubectl
from hack.lib.waiting import until
from tests.e2e.adopted_group import MERGE, Group, Json
from tests.support.builders.crds import widget
from tests.support.builders.stored_objects import multiply
from tests.support.clients.client import Reply
from tests.support.clients.informer import Informer
from tests.support.clients.workers import PACE, at_work
from tests.support.clients.writers import PatientWriter, assert_kept
from tests.support.conversion_webhook import ConversionWebhook, conversion_webhook, converting

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
OBJECTS: Final = 1000
SERVICES: Final = "/api/v1/namespaces/default/services"
MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"


def convert(obj: Json, version: str) -> None:
    """Rename a field of v1 for v2, and back."""
    before, after = ("replicas", "count") if version.endswith("/v2") else ("count", "replicas")
    if before in obj.get("spec", {}):
        obj["spec"][after] = obj["spec"].pop(before)


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionWebhook]:
    """Provide the conversion webhook that is the Service default/webhook."""
    with conversion_webhook(tmp_path_factory.mktemp("webhook"), hosts=["webhook.default.svc"], answer=converting(convert)) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, webhook: ConversionWebhook) -> Iterator[AggregatedCluster]:
    """Provide a cluster with its controllers; each test starts its operators."""
    with AggregatedCluster(
        tmp_path_factory.mktemp("adoption"),
        selector=SELECTOR,
        operator=False,
        serve_args=[f"--service-address=default/webhook=127.0.0.1:{webhook.port}"],
        operate_args=QUICK_ELECTION,
    ) as started:
        yield started


@pytest.fixture
def operator(cluster: AggregatedCluster) -> Iterator[ApiextOperator]:
    """Provide an operator with access to the host's etcd."""
    with cluster.another_operator("with-etcd", f"--host-etcd-servers={cluster.plane.etcd_url}") as started:
        yield started


def plain(items: list[Json], prefix: str = "") -> list[Json]:
    """Return objects without resourceVersion whose names have a prefix."""
    chosen = [item for item in items if item["metadata"]["name"].startswith(prefix)]
    return [{**item, "metadata": {**item["metadata"], "resourceVersion": ""}} for item in chosen]


def is_denied(reply: Reply) -> bool:
    """Return whether the host or apiext holds a write: client-go sends it again."""
    return reply.status == 429


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
            group.hand_over()
            wait_for_writes(busy)
        assert_kept(list(busy), [item for item in written(group) if item["metadata"]["name"] in {n for w in busy for n in w.held}])
        assert group.revision() < REVISION_BASE
        assert plain(group.items(), "o-") == before
        until(lambda: group.leftovers == [])
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
    held: list[Json] = []

    def count() -> None:
        while not ended.wait(PACE):
            value = acknowledged[-1] + 1
            code, answer = cluster.host.ask("PATCH", f"{group.where}/one", {"spec": {"replicas": value}}, MERGE)
            codes.add(code)
            held.extend([answer] if code == 429 else [])
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

    assert codes == {200, 429}
    assert {(answer["reason"], answer["details"]["retryAfterSeconds"]) for answer in held} == {("TooManyRequests", 1)}
    assert held[0]["message"] == f'admission webhook "hold.apiext.dev" denied the request: {HOLD_MESSAGE}'
    assert cluster.host.must("GET", f"{group.where}/one")["spec"]["replicas"] == acknowledged[-1]
    assert cluster.host.must("GET", f"{group.where}/one")["metadata"]["generation"] == acknowledged[-1]


@pytest.mark.usefixtures("operator")
def test_kubectl_waits_while_a_group_moves(cluster: AggregatedCluster, tmp_path: Path) -> None:
    """Let every write of kubectl succeed while a group moves to apiext and back."""
    group = Group(cluster, "patient.example.com")
    group.create("one")
    kubectl = Kubectl(cluster.plane.kubeconfig, tmp_path)
    ended, failed, done = threading.Event(), [], [0]

    def label() -> None:
        while not ended.wait(PACE):
            result = kubectl.run("label", "--overwrite", f"widgets.{group.name}/one", f"moment={done[0]}")
            failed.extend([] if result.returncode == 0 else [result.stderr])
            done[0] += 1

    thread = threading.Thread(target=label)
    thread.start()
    try:
        until(lambda: done[0] > 2)
        group.label()
        group.until("Serving")
        moved = done[0]
        until(lambda: done[0] > moved + 2)
        group.hand_over()
        moved = done[0]
        until(lambda: done[0] > moved + 2)
    finally:
        ended.set()
        thread.join(60)

    assert failed == []
    assert cluster.host.must("GET", f"{group.where}/one")["metadata"]["labels"]["moment"] == str(done[0] - 1)


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


def with_webhook(webhook: ConversionWebhook) -> Callable[[Json], object]:
    """Return the change of a definition that adds v2, in which a field has another name, and the webhook that renames it."""

    def change(crd: Json) -> None:
        (first,) = crd["spec"]["versions"]
        second = json.loads(json.dumps(first).replace("replicas", "count")) | {
            "name": "v2",
            "storage": False,
            "subresources": {"status": {}},
        }
        crd["spec"]["versions"].append(second)
        crd["spec"]["conversion"] = webhook.conversion(**webhook.service(port=webhook.port))

    return change


def store(group: Group, *versions: str) -> None:
    """Change the definition to have these versions, of which it stores the first."""
    found = {version["name"]: version for version in group.crd["spec"]["versions"]}
    group.change({"spec": {"versions": [found[name] | {"storage": name == versions[0]} for name in versions]}})


def stored(group: Group) -> list[list[str]]:
    """Return the stored versions of the host's definition and of the mirror."""
    mirror = group.cluster.own().must("GET", f"{CRDS}/widgets.{group.name}")
    return [crd["status"]["storedVersions"] for crd in (group.crd, mirror)]


@pytest.fixture
def evolving(cluster: AggregatedCluster, operator: ApiextOperator, webhook: ConversionWebhook) -> list[Group]:  # noqa: ARG001
    """Provide two groups that apiext has adopted with a conversion webhook, and that store v2 since."""
    spec = {"type": "ExternalName", "externalName": "localhost"}
    cluster.host.must("POST", SERVICES, {"metadata": {"name": "webhook"}, "spec": spec})
    groups = [Group(cluster, f"{name}.example.com", change=with_webhook(webhook)) for name in ("evolving", "ending")]
    before = []
    for group in groups:
        for number in range(3):
            group.create(f"o{number}")
        before.append(plain(group.items()))
        group.label()
    for group, items in zip(groups, before, strict=True):
        group.until("Serving")
        assert plain(group.items()) == items
        store(group, "v2", "v1")
        until(lambda group=group: stored(group) == [["v1", "v2"]] * 2)  # type: ignore[misc]
        listed = cluster.host.must("GET", group.path.replace("/v1/", "/v2/"))["items"]
        assert [item["spec"]["count"] for item in listed] == [1, 1, 1]
    return groups


def test_retires_a_version_of_adopted_groups(cluster: AggregatedCluster, operator: ApiextOperator, evolving: list[Group]) -> None:
    """Migrate a group with the host's migrator, drop a version on both sides, hand it back; delete another with stale copies."""
    group, other = evolving
    for one in evolving:
        one.change({"status": {"storedVersions": ["v2"]}}, status=True)
        until(lambda one=one: one.condition(type=STORED_VERSIONS_CONDITION)[0] == "True")  # type: ignore[misc]
        assert "3 in v1" in one.condition(type=STORED_VERSIONS_CONDITION)[2]
        assert sorted(stored(one)[0]) == stored(one)[1] == ["v1", "v2"]

    migrate(cluster, group)
    for item in other.items():
        cluster.host.must("PATCH", f"{other.where}/{item['metadata']['name']}", {"spec": {"size": "l"}}, MERGE)
    other.change({"status": {"storedVersions": ["v2"]}}, status=True)
    for one in evolving:
        until(lambda one=one: stored(one) == [["v2"]] * 2)  # type: ignore[misc]
        store(one, "v2")
        one.path, one.where = (path.replace("/v1/", "/v2/") for path in (one.path, one.where))
        until(lambda one=one: cluster.host.ask("GET", one.path.replace("/v2/", "/v1/"))[0] == 404)  # type: ignore[misc]
    before = plain(group.items())

    group.hand_over()
    assert group.revision() < REVISION_BASE
    assert plain(group.items()) == before
    until(lambda: group.leftovers == [])

    assert len(cluster.keys(cluster.plane.etcd_url, f"/{other.name}/")) == 3
    operator.stop()
    with cluster.another_operator("without-etcd"):
        cluster.host.must("DELETE", f"{CRDS}/widgets.{other.name}")
        until(lambda: cluster.host.ask("GET", f"{CRDS}/widgets.{other.name}")[0] == 404)
        until(lambda: other.leftovers == [] and cluster.keys(cluster.plane.etcd_url, f"/{other.name}/") == [])


def migrate(cluster: AggregatedCluster, group: Group) -> None:
    """Let the host's controllers migrate the objects of a group, and wait until they have."""
    assert cluster.plane.controller_manager is not None
    cluster.plane.controller_manager.stop()
    names = "garbage-collector-controller,storage-version-migrator-controller"
    controllers = cluster.plane.controllers(f"--controllers={names}")
    controllers.start()
    try:
        resource = {"group": group.name, "resource": "widgets"}
        cluster.host.must("POST", MIGRATIONS, {"metadata": {"name": "to-v2"}, "spec": {"resource": resource}})
        until(lambda: bool(migration(cluster).get("resourceVersion")))
        # an event brings the controllers' cache to the migration's resourceVersion
        group.create("later")
        until(lambda: any(one["type"] == "Succeeded" and one["status"] == "True" for one in migration(cluster).get("conditions", ())))
    finally:
        controllers.stop()
        cluster.plane.controller_manager.start()


def migration(cluster: AggregatedCluster) -> Json:
    """Return the status of the migration."""
    found: Json = cluster.host.must("GET", f"{MIGRATIONS}/to-v2").get("status", {})
    return found
