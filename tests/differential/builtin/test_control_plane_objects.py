"""The objects that a server makes for itself: the same ones as a kube-apiserver without a cluster, restored alike."""

import json
import re
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Answer, Pair, Side, Step
from hack.lib.waiting import until
from tests.differential.helpers.differences import compared

pytestmark = pytest.mark.slow

SYSTEM: Final = "/api/v1/namespaces/kube-system/configmaps"
TRUST: Final = f"{SYSTEM}/extension-apiserver-authentication"
TRACKING: Final = f"{SYSTEM}/kube-apiserver-legacy-service-account-token-tracking"
SERVICE: Final = "/api/v1/namespaces/default/services/kubernetes"
CIDR: Final = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_NOT_COMPARED: Final = frozenset({"events", "componentstatuses", "clusterroles", "clusterrolebindings", "roles", "rolebindings"})
"""Not stored, made by clients, or of an authorization mode."""
_IDENTITY: Final = re.compile(r"apiserver-[a-z2-7]{26}")
_PORT: Final = re.compile(r'"targetPort": \d+')
_OTHER_GROUPS: Final = frozenset({"v1.autoscaling"})
"""APIServices of versions that apiext does not serve."""


def _read(side: Side, path: str) -> Any:
    return json.loads(side.raw(Step("GET", path))[1])


def _objects(side: Side, paths: list[str]) -> dict[str, list[str]]:
    """Return the names of the objects by the path of their list."""
    found = {}
    for path in paths:
        names = (f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in _read(side, path)["items"])
        found[path] = sorted(_IDENTITY.sub("apiserver-*", name) for name in names if name.lstrip("/") not in _OTHER_GROUPS)
    return found


def _lists(side: Side) -> list[str]:
    """Return the paths of the lists of all resources."""
    groups = [version["groupVersion"] for group in _read(side, "/apis")["groups"] for version in group["versions"]]
    paths = []
    for prefix in ("/api/v1", *(f"/apis/{group}" for group in groups)):
        resources = _read(side, prefix)["resources"]
        paths += [f"{prefix}/{one['name']}" for one in resources if "list" in one["verbs"] and one["name"] not in _NOT_COMPARED]
    return paths


def test_names(builtin_pair: Pair) -> None:
    """Have the same objects of all kinds."""
    paths = _lists(builtin_pair.ours)
    theirs, ours = builtin_pair.at_once(lambda side: _objects(side, paths))

    assert ours == theirs


def _without_port(answer: Answer) -> str:
    return _PORT.sub('"targetPort": 0', json.dumps(answer.body, sort_keys=True))


def test_content(builtin_pair: Pair) -> None:
    """Give them the same content and field managers."""
    services = _read(builtin_pair.ours, "/apis/apiregistration.k8s.io/v1/apiservices")["items"]
    paths = [f"/apis/apiregistration.k8s.io/v1/apiservices/{one['metadata']['name']}" for one in services]
    paths += [CIDR, TRACKING, "/apis/networking.k8s.io/v1/ipaddresses/10.0.0.1"]
    paths += [f"{CLASSES}/{name}" for name in ("system-node-critical", "system-cluster-critical")]
    compared(builtin_pair, [Step("GET", path) for path in paths])
    theirs, ours = (_without_port(side.ask(Step("GET", SERVICE))) for side in (builtin_pair.reference, builtin_pair.ours))
    assert ours == theirs


def test_trust(builtin_pair: Pair) -> None:
    """Publish the authority of clients; without front proxies nothing else."""
    theirs, ours = (_read(side, TRUST) for side in (builtin_pair.reference, builtin_pair.ours))
    assert ours["data"].keys() == {"client-ca-file"}
    assert theirs["data"].keys() > ours["data"].keys()
    assert ours["metadata"]["managedFields"][0]["manager"] == theirs["metadata"]["managedFields"][0]["manager"]


def test_lease(builtin_pair: Pair) -> None:
    """Renew a Lease of the server."""
    theirs, ours = (_read(side, LEASES)["items"] for side in (builtin_pair.reference, builtin_pair.ours))
    assert [one["metadata"]["labels"].keys() for one in ours] == [one["metadata"]["labels"].keys() for one in theirs]
    assert [one["spec"].keys() for one in ours] == [one["spec"].keys() for one in theirs]


def test_restored_config_maps(builtin_pair: Pair) -> None:
    """Restore the ConfigMaps at once: a deleted one, and a date that is none."""
    uids = {side: _read(side, TRUST)["metadata"]["uid"] for side in (builtin_pair.reference, builtin_pair.ours)}
    for side, uid in uids.items():
        assert side.raw(Step("DELETE", TRUST))[0].status == 200
        until(lambda side=side, uid=uid: _read(side, TRUST)["metadata"].get("uid", uid) != uid, "the ConfigMap")  # type: ignore[misc]
    for side in uids:
        side.raw(Step("PATCH", TRACKING, {"data": {"since": "yesterday", "more": "x"}}, _MERGE))
        until(lambda side=side: _read(side, TRACKING)["data"]["since"] != "yesterday", "the date")  # type: ignore[misc]
    compared(builtin_pair, [Step("GET", TRACKING), Step("PATCH", TRACKING, {"data": {"more": None}}, _MERGE)])


def test_restored_service(builtin_pair: Pair) -> None:
    """Make the Service and the default ServiceCIDR again; keep changes of the Service."""
    changed = Step("PATCH", SERVICE, {"metadata": {"labels": {"provider": "other"}}}, _MERGE)
    for side in (builtin_pair.reference, builtin_pair.ours):
        assert side.raw(changed)[0].status == 200
        assert _read(side, SERVICE)["metadata"]["labels"]["provider"] == "other"
        assert side.raw(Step("DELETE", SERVICE))[0].status == 200
        until(lambda side=side: "spec" in _read(side, SERVICE), "the Service")  # type: ignore[misc]
    theirs, ours = (_without_port(side.ask(Step("GET", SERVICE))) for side in (builtin_pair.reference, builtin_pair.ours))
    assert ours == theirs


def test_system_classes(builtin_pair: Pair) -> None:
    """Refuse to delete a PriorityClass of the system, but not a collection of them."""
    node, dry = f"{CLASSES}/system-node-critical", "?dryRun=All"
    compared(builtin_pair, [Step("DELETE", node), Step("DELETE", node + dry), Step("DELETE", CLASSES + dry), Step("GET", node)])
