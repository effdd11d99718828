"""A kube-apiserver whose CRDs are converted by `apiext convert serve`."""

import base64
import datetime
import json
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any, Final

import pytest

from apiext.base.cert import issuing
from apiext.base.tls_trust import trusting_context
from apiext.operator.conversionserver.cluster_objects import STRATEGY, XRDS
from apiext.resources.definitions.composite_definition import composite_crds
from hack.lib.conversions.gadgets import RULES, gadget_crd, gadget_rules
from hack.lib.crossplane import crd_of_xrds
from hack.lib.manifests import rules
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.servers.converted_plane import CONVERSIONS
from hack.lib.servers.tls_connection import connect
from hack.lib.waiting import until
from tests.e2e.conversion_cluster import ACCOUNT, HOST, MERGE, ConversionCluster
from tests.support.clients.workers import PACE

pytestmark = pytest.mark.slow
_NUMBERS: Final = count()
XRD_RIGHTS: Final = {(verb, "compositeresourcedefinitions") for verb in ("get", "list", "watch", "patch")}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionCluster]:
    """Provide a cluster with two replicas; a test that stops one starts it again."""
    with ConversionCluster(tmp_path_factory.mktemp("conversions")) as started:
        yield started


@pytest.fixture(scope="module")
def shared(cluster: ConversionCluster) -> str:
    """Provide a converted group; a test uses objects of its own names, and leaves rules and CRD as they are."""
    cluster.define("shared.example.com")
    return "shared.example.com"


@pytest.fixture
def group() -> str:
    """Provide a group of the test's own."""
    return f"convert{next(_NUMBERS)}.example.com"


def gadget(name: str, group: str, version: str = "v1", **spec: Any) -> Json:
    """Return an object."""
    return {"apiVersion": f"{group}/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


def place(group: str, version: str = "v1", name: str = "") -> str:
    """Return the path of the objects in a version, or of one of them."""
    return f"/apis/{group}/{version}/namespaces/default/gadgets{'/' if name else ''}{name}"


@contextmanager
def reading(cluster: ConversionCluster, group: str) -> Iterator[list[object]]:
    """Write and read an object in v1 from two threads during the block, and yield the results.

    As client-go does, repeat a request that kube-apiserver asks to repeat: it refuses those that come while it takes over a changed CRD.
    """
    name = f"read{next(_NUMBERS)}"
    cluster.create(place(group), gadget(name, group, size=1))
    stop = threading.Event()
    results: list[object] = []

    def run(work: Callable[[], object]) -> None:
        while not stop.wait(PACE):
            try:
                results.append(work())
            except (OSError, AssertionError) as error:
                results.append(repr(error))

    def ask(method: str, body: Json | None) -> object:
        code, answer = cluster.host.ask(method, place(group, "v1", name), body, MERGE if body else ())
        if code == 503 and answer["message"] == "apiserver is shutting down":
            return ask(method, body)
        return code if code == 200 else answer

    def read() -> object:
        return ask("GET", None)

    def write() -> object:
        return ask("PATCH", {"metadata": {"labels": {"n": str(len(results))}}})

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in (read, write)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(results) > 20)
        yield results
        enough = len(results) + 20
        until(lambda: len(results) > enough)
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def presented(cluster: ConversionCluster, group: str) -> bytes:
    """Return the certificate that the webhook presents to a client with the CA bundle of a CRD."""
    bundle = base64.b64decode(cluster.conversion(group)["webhook"]["clientConfig"]["caBundle"]).decode()
    context = trusting_context(cadata=bundle)
    with connect(context, cluster.balancer.port, server_hostname=HOST, timeout=20) as connection:
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return shown


def make_renewal_due(cluster: ConversionCluster, group: str) -> None:
    """Put a certificate in use that is valid, and old enough to be renewed."""
    past = datetime.datetime.now(datetime.UTC) - issuing.LIFETIME * 0.9
    authority = issuing.new_authority("old", past, lifetime=issuing.LIFETIME)
    pair = issuing.issue_serving(authority, cluster.target.hosts(), past)
    bundle = authority.cert + base64.b64decode(cluster.secret()["ca.crt"]).decode()
    cluster.change_secret({"ca.crt": bundle})
    until(lambda: cluster.conversion(group)["webhook"]["clientConfig"]["caBundle"] == cluster.secret()["ca.crt"])
    cluster.change_secret({"tls.crt": pair.cert, "tls.key": pair.key})
    until(lambda: presented(cluster, group) == ssl.PEM_cert_to_DER_cert(pair.cert))
    until(lambda: cluster.host.ask("GET", place(group))[0] == 200)


def test_rotates_the_certificate_without_a_failed_request(cluster: ConversionCluster, shared: str) -> None:
    """Publish a new authority, then present its certificate, while objects are read and written in the other version."""
    group = shared
    make_renewal_due(cluster, group)
    before, old = cluster.secret(), presented(cluster, group)

    with reading(cluster, group) as results:
        until(lambda: cluster.secret()["tls.crt"] != before["tls.crt"])
        until(lambda: presented(cluster, group) != old)

    after = cluster.secret()
    assert set(results) == {200}
    assert after.keys() == {"tls.crt", "tls.key", "ca.crt"}
    assert base64.b64decode(after["ca.crt"]).endswith(base64.b64decode(before["ca.crt"]))
    assert cluster.conversion(group)["webhook"]["clientConfig"]["caBundle"] == after["ca.crt"]


def test_a_replica_ends_or_dies(cluster: ConversionCluster, shared: str) -> None:
    """Fail no request when a replica ends. When the leader is killed, requests fail only until its Service leaves it out."""
    replica = cluster.leader()
    (other,) = (one for one in cluster.replicas if one is not replica)

    with reading(cluster, shared) as results:
        other.process.signal(signal.SIGTERM)
        until(lambda: not other.process.running)
        other.start()
        cluster.balancer.wait(*cluster.replicas)
        assert set(results) == {200}
        replica.kill()
        cluster.balancer.wait(other)
        recovered = len(results)
        cluster.define(f"after.{shared}")
        replica.start()
        cluster.balancer.wait(*cluster.replicas)

    assert all("conversion webhook" in str(result) for result in results if result != 200)
    # a request of each of the two threads may have been under way
    assert set(results[recovered + 2 :]) == {200}


def test_restores_the_conversion(cluster: ConversionCluster, group: str) -> None:
    """Set spec.conversion again when someone changes it, and not once the CRD asks for None."""
    cluster.define(group)
    path = f"{CRDS}/gadgets.{group}"

    cluster.host.must("PATCH", path, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, MERGE)
    until(lambda: cluster.conversion(group)["strategy"] == "Webhook")

    cluster.host.must("PATCH", path, {"metadata": {"annotations": {STRATEGY: "none"}}}, MERGE)
    until(lambda: cluster.conversion(group) == {"strategy": "None"})

    managers = {one["manager"]: one["fieldsV1"] for one in cluster.host.must("GET", path)["metadata"]["managedFields"]}
    assert "f:conversion" in managers["apiext-conversions"]["f:spec"]
    until(lambda: ("ConversionStrategyChanged", "spec.conversion.strategy was Webhook and is now None.") in cluster.events(group))


def _has_tag(cluster: ConversionCluster, group: str) -> bool:
    """Write a new image in v1, and return whether v2 has its tag; rules without an image carry it.

    An image that an object carries already stays so until it changes, also under rules that split it.
    """
    tag = str(next(_NUMBERS))
    cluster.host.must("PATCH", place(group, "v1", "g"), {"spec": {"image": f"image:{tag}"}}, MERGE)
    return bool(cluster.host.must("GET", place(group, "v2", "g"))["spec"].get("tag") == tag)


def test_rules_change(cluster: ConversionCluster, group: str) -> None:
    """Convert by new rules, refuse to convert by invalid ones, and convert again once they are repaired."""
    cluster.define(group, [rule for rule in RULES if rule.keys() & {"rename", "listToMap"}])
    cluster.create(place(group), gadget("g", group, size=3, region="north"))
    assert cluster.host.must("GET", place(group, "v2", "g"))["spec"] == {"capacity": 3}
    rules = f"{CONVERSIONS}/gadgets.{group}"

    cluster.host.must("PATCH", rules, {"spec": gadget_rules(group)["spec"]}, MERGE)
    until(lambda: _has_tag(cluster, group), "a conversion by the new rules")

    cluster.host.must("PATCH", rules, {"spec": {"hub": "v9"}}, MERGE)
    until(lambda: cluster.host.ask("GET", place(group, "v1", "g"))[0] == 500)
    message = cluster.host.ask("GET", place(group, "v1", "g"))[1]["message"]
    assert f"Gadget default/g: the rules of Conversion gadgets.{group} cannot be used: " in message
    assert cluster.host.ask("GET", place(group, "v2", "g"))[0] == 200
    until(lambda: any(reason == "ConversionRulesInvalid" for reason, _ in cluster.events(group)))
    until(lambda: cluster.conditions(group) == {"Valid": "False", "InUse": "False"})
    assert "v9" in cluster.host.must("GET", rules)["status"]["problems"][0]["message"]

    cluster.host.must("PATCH", rules, {"spec": {"hub": "v2"}}, MERGE)
    until(lambda: cluster.host.ask("GET", place(group, "v1", "g"))[0] == 200)
    until(lambda: cluster.conditions(group) == {"Valid": "True", "InUse": "True"})
    assert "problems" not in cluster.host.must("GET", rules)["status"]


def test_a_deleted_conversion_leaves_the_webhook(cluster: ConversionCluster, group: str) -> None:
    """Keep the webhook, say why reads fail, and convert again when the Conversion object is back."""
    cluster.define(group)
    cluster.create(place(group), gadget("g", group, size=3))

    cluster.host.must("DELETE", f"{CONVERSIONS}/gadgets.{group}")
    until(lambda: cluster.host.ask("GET", place(group, "v1", "g"))[0] == 500)
    message = cluster.host.ask("GET", place(group, "v1", "g"))[1]["message"]
    assert f"no Conversion object describes the versions of Gadget.{group}" in message
    assert cluster.conversion(group)["strategy"] == "Webhook"
    until(lambda: any(reason == "ConversionMissing" for reason, _ in cluster.events(group)))

    cluster.host.must("POST", CONVERSIONS, gadget_rules(group))
    until(lambda: cluster.host.ask("GET", place(group, "v1", "g"))[0] == 200)


def test_old_clients_keep_what_they_never_saw(cluster: ConversionCluster, shared: str) -> None:
    """Keep a field of the other version through kubectl's applies and patches in a version without it, and show it in lists and watches."""
    new = gadget("kept", shared, "v2", capacity=1, placement={"region": "north", "zone": "a"})
    since = cluster.create(place(shared, "v2"), new)["metadata"]["resourceVersion"]
    old, kubectl = gadget("kept", shared, size=2, region="south", note="mine"), cluster.kubectl

    kubectl("apply", "-f", "-", stdin=json.dumps(old))
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps({**old, "spec": {**old["spec"], "size": 3}}))
    kubectl("patch", f"gadgets.v1.{shared}", "kept", "--type=merge", "-p", json.dumps({"spec": {"size": 4}}))

    (listed,) = [one for one in cluster.host.must("GET", place(shared, "v2"))["items"] if one["metadata"]["name"] == "kept"]
    assert listed["spec"] == {"capacity": 4, "placement": {"region": "south", "zone": "a"}}
    watch = f"{place(shared)}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dkept&resourceVersion={since}"
    with closing(cluster.host.connect()) as connection:
        lines = cluster.host.send(connection, "GET", watch).read().splitlines()
    events = [json.loads(line)["object"] for line in lines]
    assert [event["apiVersion"] for event in events] == [f"{shared}/v1"] * len(events)
    assert events[-1]["spec"] == {"size": 4, "region": "south", "note": "mine"}


def _with_ports(group: str) -> Json:
    """Return the CRD with a list whose items have a field that only v1 has."""
    crd = gadget_crd(group)
    for version, names in (("v1", ("name", "x")), ("v2", ("name",))):
        item = {"type": "object", "required": ["name"], "properties": {name: {"type": "string"} for name in names}}
        keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item}
        (schema,) = [one["schema"]["openAPIV3Schema"] for one in crd["spec"]["versions"] if one["name"] == version]
        spec = schema["properties"]["spec"]
        spec["properties"] = {**spec["properties"], "ports": keyed}
    return crd


def test_what_was_removed_does_not_return(cluster: ConversionCluster, group: str) -> None:
    """Show nothing of an item or object that was removed in the storage version once it is made anew there, and keep what stays."""
    cluster.define(group, crd=_with_ports(group))
    ports = [{"name": "a", "x": "A"}, {"name": "b", "x": "B"}]
    created = gadget("gone", group, size=1, note="N", ports=ports)
    # kube-apiserver follows no managers any more once all of them have lost all fields
    created["metadata"]["labels"] = {"a": "b"}
    cluster.create(place(group), created)

    def change(spec: Json | None, kind: str = "merge-patch+json", query: str = "") -> Json:
        body = gadget("gone", group, "v2") | {"spec": spec}
        cluster.host.must("PATCH", place(group, "v2", "gone") + query, body, [("Content-Type", f"application/{kind}")])
        shown: Json = cluster.host.must("GET", place(group, "v1", "gone")).get("spec", {})
        return shown

    kept = change({"capacity": 2}, "apply-patch+yaml", "?fieldManager=applier&force=true")
    removed = change({"ports": [{"name": "b"}]})
    again = change({"ports": [{"name": "a"}, {"name": "b"}]})
    assert kept == {"size": 2, "note": "N", "ports": ports}
    assert removed == {"size": 2, "note": "N", "ports": [{"name": "b", "x": "B"}]}
    assert again == {"size": 2, "note": "N", "ports": [{"name": "a"}, {"name": "b", "x": "B"}]}

    change(None)
    assert change({"capacity": 3, "ports": [{"name": "b"}]}) == {"size": 3, "ports": [{"name": "b"}]}


def test_metrics(cluster: ConversionCluster, shared: str) -> None:
    """Count reviews by CRD and versions on the replicas that answered them."""
    cluster.create(place(shared), gadget("measured", shared, size=3))

    text = "".join(replica.get("/metrics")[1] for replica in cluster.replicas)

    assert f'crd_name="gadgets.{shared}",from_version="v1",succeeded="true",to_version="v2"' in text


def xrd_of_gadgets(group: str) -> Json:
    """Return an XRD with the versions of gadgets."""
    versions = [
        {**{name: version[name] for name in ("name", "served", "schema")}, "referenceable": version["storage"]}
        for version in gadget_crd(group)["spec"]["versions"]
    ]
    spec = {"group": group, "names": {"plural": "gadgets", "kind": "Gadget"}, "versions": versions}
    head = {"apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition"}
    return {**head, "metadata": {"name": f"gadgets.{group}", "annotations": {STRATEGY: "webhook"}}, "spec": spec}


def play_crossplane(cluster: ConversionCluster, name: str) -> None:
    """Create or replace the CRD of an XRD, as Crossplane does after each change of either."""
    xrd = cluster.host.must("GET", f"{XRDS}/{name}")
    (crd,) = composite_crds(xrd)
    crd["metadata"]["ownerReferences"][0]["uid"] = xrd["metadata"]["uid"]
    code, found = cluster.host.ask("GET", f"{CRDS}/{name}")
    if code == 404:
        cluster.host.must("POST", CRDS, crd)
    else:
        crd["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
        cluster.host.must("PUT", f"{CRDS}/{name}", crd)


def test_converts_the_objects_of_an_xrd(cluster: ConversionCluster, group: str) -> None:
    """Write spec.conversion of an XRD, which Crossplane copies to its CRD, and remove it again."""
    name = f"gadgets.{group}"
    cluster.host.must("POST", CRDS, crd_of_xrds())
    until(lambda: cluster.host.ask("GET", XRDS)[0] == 200)
    cluster.host.must("POST", CONVERSIONS, gadget_rules(group))
    cluster.host.must("POST", XRDS.replace("/v1/", "/v2/"), xrd_of_gadgets(group))
    play_crossplane(cluster, name)

    until(lambda: "conversion" in cluster.host.must("GET", f"{XRDS}/{name}")["spec"], "the webhook in the XRD")
    play_crossplane(cluster, name)
    assert cluster.conversion(group)["webhook"]["clientConfig"]["caBundle"] == cluster.secret()["ca.crt"]
    until(lambda: cluster.host.ask("GET", place(group))[0] == 200)
    until(lambda: cluster.conditions(group) == {"Valid": "True", "InUse": "True"})
    cluster.create(place(group), gadget("one", group, size=3))
    assert cluster.host.must("GET", place(group, "v2", "one"))["spec"]["capacity"] == 3

    cluster.host.must("PATCH", f"{XRDS}/{name}", {"metadata": {"annotations": {STRATEGY: "none"}}}, MERGE)
    until(lambda: "conversion" not in cluster.host.must("GET", f"{XRDS}/{name}")["spec"], "no conversion in the XRD")
    assert used_rights(cluster) >= XRD_RIGHTS


def _resource(reference: Json) -> str:
    return "/".join(filter(None, (reference["resource"], reference.get("subresource"))))


def used_rights(cluster: ConversionCluster) -> set[tuple[str, str]]:
    """Return the verbs and resources of the requests of the webhook."""
    return {(event["verb"], _resource(event["objectRef"])) for event in cluster.requests(ACCOUNT)}


def test_rights(cluster: ConversionCluster, shared: str) -> None:
    """Need no right that the manifests do not give, and use all of them."""
    assert cluster.conversion(shared)["strategy"] == "Webhook"
    assert cluster.forbidden(ACCOUNT) == []
    given = {
        (verb, resource) for _place, rule in rules(cluster.documents, ACCOUNT) for verb in rule["verbs"] for resource in rule["resources"]
    }
    # events are patched when they repeat after minutes; XRDs have a test of their own
    assert given - used_rights(cluster) <= {("patch", "events")} | XRD_RIGHTS
