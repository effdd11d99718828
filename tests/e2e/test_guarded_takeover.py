"""Webhooks and policies of real projects guard their groups before, during and after take-over and hand-back."""

import base64
from collections.abc import Iterator
from typing import Any, Final

import pytest

from apiext.base.meta.host_annotations import HAND_OVER, REVISION_BASE, SERVE_LABEL
from hack.lib.real_crds import NO_REAL, REAL
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.waiting import until
from tests.e2e.adopted_group import MERGE
from tests.e2e.guarded_cluster import GuardedCluster
from tests.e2e.guarded_writer import MARK, GuardedWriter, Round, Write, counts
from tests.e2e.projects.cert_manager import CERT_MANAGER
from tests.e2e.projects.kueue import KUEUE, convert
from tests.e2e.projects.kyverno import FORBIDDEN, KYVERNO
from tests.support.builders.admission import collection, rule, validating_binding, validating_policy
from tests.support.clients.workers import at_work

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)]
MARKED: Final = {"annotations": {MARK: "MARK"}}
CONDITION: Final = {"type": "Active", "status": "True", "reason": "R", "message": "MARK", "lastTransitionTime": "2026-01-01T00:00:00Z"}
REQUESTS: Final = "/apis/cert-manager.io/v1/namespaces/default/certificaterequests"
REQUEST: Final[dict[str, Any]] = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "CertificateRequest",
    "metadata": {"name": "NAME", **MARKED},
    "spec": {"issuerRef": {"name": "ca"}, "request": base64.b64encode(b"x").decode()},
}
CERTIFICATE: Final[dict[str, Any]] = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Certificate",
    "metadata": {"name": "NAME", **MARKED},
    "spec": {"issuerRef": {"name": "ca"}, "secretName": "s"},
}
REQUEST_LIFE: Final[Round] = (
    Write("create", "POST", REQUESTS, REQUEST),
    Write("update", "PATCH", f"{REQUESTS}/NAME", {"metadata": MARKED}),
    Write("status", "PATCH", f"{REQUESTS}/NAME/status", {"status": {"conditions": [CONDITION | {"type": "Ready"}]}}),
    Write("refused by the webhook", "PATCH", f"{REQUESTS}/NAME", {"metadata": MARKED, "spec": {"isCA": True}}, refused=True),
    Write("refused by the policy", "PATCH", f"{REQUESTS}/NAME", {"metadata": {"annotations": {MARK: "MARK", "denied": ""}}}, refused=True),
    Write(
        "apply",
        "APPLY",
        f"{REQUESTS}/NAME?fieldManager=applier&force=true",
        {"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "metadata": MARKED},
    ),
    Write("refused create", "POST", REQUESTS.replace("certificaterequests", "certificates"), CERTIFICATE, refused=True),
    Write("delete", "DELETE", f"{REQUESTS}/NAME"),
)
QUEUES: Final = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
OLD_QUEUES: Final = QUEUES.replace("v1beta2", "v1beta1")
QUEUE: Final[dict[str, Any]] = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "ClusterQueue",
    "metadata": {"name": "NAME", **MARKED},
    "spec": {"cohort": "all"},
}
QUEUE_LIFE: Final[Round] = (
    Write("create queue", "POST", OLD_QUEUES, QUEUE),
    Write("refused by the webhook", "PATCH", f"{OLD_QUEUES}/NAME", {"metadata": MARKED, "spec": {"cohort": "NAME"}}, refused=True),
    Write("update old queue", "PATCH", f"{OLD_QUEUES}/NAME", {"metadata": MARKED, "spec": {"cohort": "other"}}),
    Write("update queue", "PATCH", f"{QUEUES}/NAME", {"metadata": MARKED, "spec": {"cohortName": "third"}}),
    Write("queue's status", "PATCH", f"{QUEUES}/NAME/status", {"status": {"conditions": [CONDITION]}}),
    Write("refused by Kyverno", "PATCH", f"{QUEUES}/NAME", {"metadata": {"labels": {FORBIDDEN: "x"}, **MARKED}}, refused=True),
    Write("delete queue", "DELETE", f"{QUEUES}/NAME"),
    Write("finalize queue", "PATCH", f"{QUEUES}/NAME", {"metadata": {"finalizers": None, **MARKED}}),
)
GROUPS: Final = ("cert-manager.io", "kueue.x-k8s.io")
EXPECTED: Final = {
    "create": {"/mutate": 1, "/validate": 1, "/mutate/fail": 1, "/validate/fail": 1},
    "create queue": {
        "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue": 1,
        "/validate-kueue-x-k8s-io-v1beta2-clusterqueue": 1,
        "/mutate/fail": 1,
        "/validate/fail": 1,
    },
    "delete": {"/validate/fail": 1},
}
"""How often kube-apiserver calls webhooks for some of the writes."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedCluster]:
    """Provide a cluster with the projects, and a policy for everything, whose parameter is a ConfigMap."""
    with GuardedCluster(tmp_path_factory.mktemp("guarded"), CERT_MANAGER, KUEUE, KYVERNO, convert=convert) as started:
        forbid(started)
        yield started


def forbid(cluster: GuardedCluster) -> None:
    """Deny objects with an annotation that a ConfigMap names."""
    host = cluster.host
    host.must("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "limits"}, "data": {"annotation": "denied"}})
    named = "has(object.metadata.annotations) && params.data.annotation in object.metadata.annotations"
    policy = validating_policy(
        "wildcard",
        {"expression": f"!({named})", "messageExpression": "'not ' + params.data.annotation"},
        rules=[rule(operations=["CREATE", "UPDATE"])],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    reference = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    for made in (policy, validating_binding("wildcard", "wildcard", paramRef=reference)):
        host.must("POST", collection(made["kind"]), made)
    probe = {"metadata": {"name": "probe", "annotations": {"denied": ""}}}
    until(lambda: host.ask("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", probe)[0] == 422)


def change(cluster: GuardedCluster, metadata: dict[str, Any]) -> None:
    """Change metadata of all definitions of both groups."""
    for group in GROUPS:
        for name in cluster.definitions(group):
            cluster.host.must("PATCH", f"{CRDS}/{name}", {"metadata": metadata}, MERGE)


def reason(cluster: GuardedCluster, name: str) -> str:
    """Return the reason of the condition ServedByApiext."""
    conditions = cluster.host.must("GET", f"{CRDS}/{name}")["status"]["conditions"]
    return next((str(one["reason"]) for one in conditions if one["type"] == "ServedByApiext"), "")


def moved(cluster: GuardedCluster, wanted: str) -> bool:
    """Return whether all definitions of both groups have reached a reason."""
    return all(reason(cluster, name) == wanted for group in GROUPS for name in cluster.definitions(group))


def revision(cluster: GuardedCluster) -> int:
    """Return the revision of a list through the host."""
    return int(cluster.host.must("GET", f"{QUEUES}?limit=1")["metadata"]["resourceVersion"])


def test_guards_groups_on_their_way(cluster: GuardedCluster) -> None:
    """Call webhooks for each acknowledged write as often as kube-apiserver, and never accept a forbidden one, wherever the group is."""
    writers = [GuardedWriter(cluster.plane, name, life) for name, life in (("request", REQUEST_LIFE), ("queue", QUEUE_LIFE))]
    with at_work(writers):
        each_waits(writers)
        reference = counts(writers, cluster.hooks.calls)
        messages = {what: set(found) for writer in writers for what, found in writer.denials.items()}

        change(cluster, {"labels": {SERVE_LABEL: "true"}})
        until(lambda: moved(cluster, "Serving"), patience=120)
        assert revision(cluster) > REVISION_BASE
        each_waits(writers, 2)
        cluster.apiext.stop()
        cluster.apiext.start()
        each_waits(writers)
        change(cluster, {"annotations": {HAND_OVER: "true"}})
        until(lambda: moved(cluster, "HandedOver"), patience=120)
        assert revision(cluster) < REVISION_BASE
        each_waits(writers)

    assert [writer.wrong for writer in writers] == [[], []]
    assert all(writer.postponed for writer in writers)
    assert {what: [dict(one) for one in found] for what, found in reference.items() if what in EXPECTED} == {
        what: [expected] for what, expected in EXPECTED.items()
    }
    assert all(len(found) == 1 for found in reference.values())
    assert counts(writers, cluster.hooks.calls) == reference
    assert {what: set(found) for writer in writers for what, found in writer.denials.items()} == messages


def each_waits(writers: list[GuardedWriter], rounds: int = 5) -> None:
    """Wait until each writer has begun and finished some rounds."""
    for writer in writers:
        writer.wait(rounds + 1)
