"""The cluster's controllers with objects of apiext, compared with those of a definition of kube-apiserver in the same test."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import pytest

from tests.e2e.cluster import PLAIN, SERVED, Cluster, until
from tests.support.builders.crds import widgets_path

pytestmark = pytest.mark.slow
ALL: Final = (PLAIN, *SERVED)
HOLD: Final = "example.com/hold"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
NAMESPACES: Final = "/api/v1/namespaces"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
RELEASE: Final[dict[str, Any]] = {"metadata": {"finalizers": None}}
Answers = dict[str, Any]
"""What became of something, by group."""


@pytest.fixture(scope="module", autouse=True)
def controllers(cluster: Cluster) -> Iterator[None]:
    """Run the controllers of all kinds; they discover kinds twice a minute, so they start when all kinds exist."""
    names = "garbage-collector-controller,namespace-controller,resourcequota-controller"
    process = cluster.plane.controllers(f"--controllers={names}")
    process.start()
    yield
    process.stop()


@pytest.fixture(autouse=True)
def clean(cluster: Cluster) -> Iterator[None]:
    """Delete the objects after each test."""
    yield
    for group in ALL:
        cluster.host.must("DELETE", widgets_path(group))


def widget(group: str, name: str, **metadata: Any) -> dict[str, Any]:
    """Return an object without a spec, so that nothing but metadata is written."""
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name, **metadata}}


def config_map(group: str, name: str, **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap for a group."""
    return {"metadata": {"name": name_of(group, name), **metadata}}


def name_of(group: str, name: str) -> str:
    """Return a name that is different for each group."""
    return f"{name}-{group.partition('.')[0]}"


def owner(owned_by: dict[str, Any], kind: str = "Widget") -> list[dict[str, Any]]:
    """Return an object as an ownerReference."""
    metadata = owned_by["metadata"]
    version = owned_by.get("apiVersion", "v1")
    return [{"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"], "blockOwnerDeletion": True}]


def for_all(ask: Callable[[str], Any]) -> Answers:
    """Return the result of a call for each group."""
    return {group: ask(group) for group in ALL}


def same(answers: Answers) -> Any:
    """Return the result of a call, which has to be equal for all groups except for the group's name."""
    told = {json.dumps(answer, sort_keys=True).replace(group, "GROUP") for group, answer in answers.items()}
    assert len(told) == 1, told
    return json.loads(told.pop())


def gone(cluster: Cluster, path: Callable[[str], str]) -> None:
    """Wait until an object of each group is deleted."""
    until(lambda: all(cluster.host.ask("GET", path(group))[0] == 404 for group in ALL))


def held(cluster: Cluster, path: str) -> Any:
    """Return the finalizers of a terminating object, None if it is not terminating."""
    metadata = cluster.host.must("GET", path)["metadata"]
    return metadata.get("finalizers", []) if "deletionTimestamp" in metadata else None


# --- namespaces -----------------------------------------------------------------------------------------------------


def test_deletes_namespaces(cluster: Cluster) -> None:
    """Delete the objects of a terminating namespace, wait for their finalizers, and report them in its conditions."""
    host = cluster.host
    for group in ALL:
        host.must("POST", NAMESPACES, {"metadata": {"name": name_of(group, "ends")}})
        host.must("POST", widgets_path(group, name_of(group, "ends")), widget(group, "free"))
        host.must("POST", widgets_path(group, name_of(group, "ends")), widget(group, "held", finalizers=[HOLD]))
        host.must("DELETE", f"{NAMESPACES}/{name_of(group, 'ends')}")

    refused = for_all(lambda group: _refusal(cluster, group, name_of(group, "ends")))
    until(lambda: all(_remaining(cluster, group)["NamespaceFinalizersRemaining"][0] == "True" for group in ALL))
    gone(cluster, lambda group: f"{widgets_path(group, name_of(group, 'ends'))}/free")
    conditions = same(for_all(lambda group: _remaining(cluster, group)))
    kept = for_all(lambda group: held(cluster, f"{widgets_path(group, name_of(group, 'ends'))}/held"))
    for group in ALL:
        host.must("PATCH", f"{widgets_path(group, name_of(group, 'ends'))}/held", RELEASE, MERGE)
    gone(cluster, lambda group: f"{NAMESPACES}/{name_of(group, 'ends')}")

    code, status = same(refused)
    why = "unable to create new content in namespace ends-NAME because it is being terminated"
    assert (code, status["message"]) == (403, f'widgets.GROUP "late" is forbidden: {why}')
    assert status["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    remaining = f"Some content in the namespace has finalizers remaining: {HOLD} in 1 resource instances"
    assert conditions["NamespaceFinalizersRemaining"] == ["True", "SomeFinalizersRemain", remaining]
    assert conditions["NamespaceContentRemaining"][2] == "Some resources are remaining: widgets.GROUP has 1 resource instances"
    assert same(kept) == [HOLD]
    code, status = same(for_all(lambda group: _refusal(cluster, group, name_of(group, "ends"))))
    assert (code, status["message"]) == (404, 'namespaces "ends-NAME" not found')


def _refusal(cluster: Cluster, group: str, namespace: str) -> Any:
    """Return the message of a create in a namespace."""
    answer = json.dumps(cluster.host.ask("POST", widgets_path(group, namespace), widget(group, "late")))
    return json.loads(answer.replace(namespace, "ends-NAME"))


def _remaining(cluster: Cluster, group: str) -> dict[str, list[str]]:
    """Return the messages of a namespace's conditions by type."""
    status = cluster.host.must("GET", f"{NAMESPACES}/{name_of(group, 'ends')}")["status"]
    found = {one["type"]: [one["status"], one["reason"], one["message"]] for one in status.get("conditions", [])}
    return {"NamespaceFinalizersRemaining": ["", "", ""], **found}


def test_uses_new_namespaces_at_once(cluster: Cluster) -> None:
    """Accept objects in a namespace as soon as it exists."""
    for number in range(5):
        cluster.host.must("POST", NAMESPACES, {"metadata": {"name": f"comes-{number}"}})
        for group in ALL:
            cluster.host.must("POST", widgets_path(group, f"comes-{number}"), widget(group, "w"))
        cluster.host.must("DELETE", f"{NAMESPACES}/comes-{number}")


# --- garbage --------------------------------------------------------------------------------------------------------


def _owners(cluster: Cluster, **metadata: Any) -> dict[str, str]:
    """Create objects that own a ConfigMap each; return the paths of the owners by group."""
    paths = {}
    for group in ALL:
        made = cluster.host.must("POST", widgets_path(group), widget(group, "owner"))
        cluster.host.must("POST", CONFIG_MAPS, config_map(group, "owned", ownerReferences=owner(made), **metadata))
        paths[group] = f"{widgets_path(group)}/owner"
    return paths


def _owned(group: str) -> str:
    return f"{CONFIG_MAPS}/{name_of(group, 'owned')}"


def test_deletes_dependents_in_the_background(cluster: Cluster) -> None:
    """Delete dependents of the cluster's own kinds after their owner."""
    for path in _owners(cluster).values():
        cluster.host.must("DELETE", f"{path}?propagationPolicy=Background")

    gone(cluster, _owned)


def test_deletes_dependents_in_the_foreground(cluster: Cluster) -> None:
    """Keep an owner that is deleted in the foreground until its dependents are gone."""
    paths = _owners(cluster, finalizers=[HOLD])
    for path in paths.values():
        cluster.host.must("DELETE", f"{path}?propagationPolicy=Foreground")

    until(lambda: all(held(cluster, _owned(group)) for group in ALL))
    assert same(for_all(lambda group: held(cluster, paths[group]))) == ["foregroundDeletion"]
    for group in ALL:
        cluster.host.must("PATCH", _owned(group), RELEASE, MERGE)
    gone(cluster, _owned)
    gone(cluster, lambda group: paths[group])


def test_orphans_dependents(cluster: Cluster) -> None:
    """Delete an owner alone if its dependents are to be orphaned."""
    paths = _owners(cluster)
    for path in paths.values():
        cluster.host.must("DELETE", f"{path}?propagationPolicy=Orphan")

    gone(cluster, lambda group: paths[group])
    for group in ALL:
        assert "ownerReferences" not in cluster.host.must("DELETE", _owned(group))


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_deletes_owned_objects(cluster: Cluster, policy: str) -> None:
    """Delete objects with their owners, of the cluster's own kinds or of the same group."""
    host = cluster.host
    for group in ALL:
        top = host.must("POST", CONFIG_MAPS, config_map(group, "top"))
        first = host.must("POST", widgets_path(group), widget(group, "first", ownerReferences=owner(top, "ConfigMap")))
        host.must("POST", widgets_path(group), widget(group, "second", ownerReferences=owner(first)))
        host.must("DELETE", f"{CONFIG_MAPS}/{name_of(group, 'top')}?propagationPolicy={policy}")

    gone(cluster, lambda group: f"{widgets_path(group)}/first")
    gone(cluster, lambda group: f"{widgets_path(group)}/second")
    gone(cluster, lambda group: f"{CONFIG_MAPS}/{name_of(group, 'top')}")


def test_keeps_orphaned_objects(cluster: Cluster) -> None:
    """Keep orphaned objects, and delete those whose owner never existed."""
    host = cluster.host
    nobody = {"metadata": {"name": "nobody", "uid": "00000000-0000-4000-8000-000000000000"}}
    for group in ALL:
        top = host.must("POST", CONFIG_MAPS, config_map(group, "top"))
        host.must("POST", widgets_path(group), widget(group, "left", ownerReferences=owner(top, "ConfigMap")))
        host.must("POST", widgets_path(group), widget(group, "lost", ownerReferences=owner(nobody, "ConfigMap")))
        host.must("DELETE", f"{CONFIG_MAPS}/{name_of(group, 'top')}?propagationPolicy=Orphan")

    gone(cluster, lambda group: f"{CONFIG_MAPS}/{name_of(group, 'top')}")
    gone(cluster, lambda group: f"{widgets_path(group)}/lost")
    for group in ALL:
        assert "ownerReferences" not in host.must("GET", f"{widgets_path(group)}/left")["metadata"]


@pytest.mark.parametrize("kind, query", [("PartialObjectMetadataList", ""), ("PartialObjectMetadata", "?watch=true&timeoutSeconds=1")])
def test_serves_metadata_in_protobuf(cluster: Cluster, kind: str, query: str) -> None:
    """Serve partial metadata in Protobuf, as the controllers request it."""
    protobuf, form = "application/vnd.kubernetes.protobuf", f"as={kind};g=meta.k8s.io;v=v1"
    accept = f"{protobuf};{form},application/json;{form},application/json"

    def read(group: str) -> list[Any]:
        cluster.host.must("POST", widgets_path(group), widget(group, "meta"))
        with closing(cluster.host.connect()) as connection:
            answer = cluster.host.send(connection, "GET", f"{widgets_path(group)}{query}", headers=[("Accept", accept)])
            data = answer.read()
        return [answer.status, answer.getheader("Content-Type"), kind.encode() in data, b"meta" in data, b"spec" in data]

    assert same(for_all(read)) == [200, f"{protobuf};stream=watch" if query else protobuf, True, True, False]


# --- quotas ---------------------------------------------------------------------------------------------------------


def _limited(cluster: Cluster, namespace: str, most: int) -> None:
    """Create a namespace with a quota for the objects of each group."""
    cluster.host.must("POST", NAMESPACES, {"metadata": {"name": namespace}})
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {f"count/widgets.{group}": str(most) for group in ALL}}}
    cluster.host.must("POST", f"{NAMESPACES}/{namespace}/resourcequotas", quota)
    until(lambda: set(_used(cluster, namespace).values()) == {"0"})


def _used(cluster: Cluster, namespace: str) -> Answers:
    """Return the used amount of the quota."""
    status = cluster.host.must("GET", f"{NAMESPACES}/{namespace}/resourcequotas/q").get("status", {})
    return {group: status.get("used", {}).get(f"count/widgets.{group}") for group in ALL}


def test_enforces_quotas(cluster: Cluster) -> None:
    """Deny what exceeds a quota with the reference's message, also in dry runs, and free the quota after a deletion."""
    host, namespace = cluster.host, "limited"
    _limited(cluster, namespace, 1)

    def make(group: str, name: str, query: str = "") -> Any:
        code, answer = host.ask("POST", f"{widgets_path(group, namespace)}{query}", widget(group, name))
        return [code, answer if code == 403 else None]

    assert same(for_all(lambda group: make(group, "dry", "?dryRun=All"))) == [201, None]
    assert same(_used(cluster, namespace)) == "0"
    assert same(for_all(lambda group: make(group, "one"))) == [201, None]
    assert same(_used(cluster, namespace)) == "1"
    count = "count/widgets.GROUP=1"
    why = f"exceeded quota: q, requested: {count}, used: {count}, limited: {count}"
    code, status = same(for_all(lambda group: make(group, "two")))
    assert (code, status["message"]) == (403, f'widgets.GROUP "two" is forbidden: {why}')
    assert same(for_all(lambda group: make(group, "dry", "?dryRun=All")))[0] == 403
    for group in ALL:
        host.must("PATCH", f"{widgets_path(group, namespace)}/one", {"spec": {"size": "l"}}, MERGE)
        host.must("DELETE", f"{widgets_path(group, namespace)}/one")
    until(lambda: set(_used(cluster, namespace).values()) == {"0"})
    assert same(for_all(lambda group: make(group, "two"))) == [201, None]
    host.must("DELETE", f"{NAMESPACES}/{namespace}")


def test_enforces_quotas_under_concurrency(cluster: Cluster) -> None:
    """Admit exactly as many concurrent creates as the quota allows."""
    namespace, most = "crowded", 7
    _limited(cluster, namespace, most)

    def make(number: int) -> int:
        group = ALL[number % len(ALL)]
        return cluster.host.ask("POST", widgets_path(group, namespace), widget(group, f"w{number}"))[0]

    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(make, range(20 * len(ALL))))

    made = for_all(lambda group: [code for number, code in enumerate(codes) if ALL[number % len(ALL)] == group].count(201))
    assert set(codes) <= {201, 403, 409}
    assert same(made) == most
    assert same(_used(cluster, namespace)) == str(most)
    cluster.host.must("DELETE", f"{NAMESPACES}/{namespace}")
