"""What webhooks are asked about the built-in kinds, against the reference: lists that are empty, and fields that Go always writes."""

from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.builtin_objects import LEFT_OUT, BuiltinObject, builtin_objects
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import MARKER_CRD, GuardedPair
from tests.support.admission_webhook import AdmissionWebhook
from tests.support.builders import admission

pytestmark = pytest.mark.slow

_EVERY: Final = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"], "scope": "*"}
_CHANGE: Final = {"metadata": {"labels": {"x": "y"}}}
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_POD: Final = {"containers": [{"name": "c", "image": "i", "args": []}], "volumes": [{"name": "v", "projected": {"sources": []}}]}
_TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_EMPTY: Final[dict[str, dict[str, Any]]] = {
    f"{_RBAC}/clusterroles": {"rules": []},
    f"{_RBAC}/namespaces/default/roles": {"rules": []},
    f"{_RBAC}/clusterrolebindings": {
        "subjects": [],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
    },
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": {"addressType": "IPv4", "endpoints": [], "ports": []},
    "/api/v1/namespaces/default/limitranges": {"spec": {"limits": []}},
    "/api/v1/namespaces/default/pods": {"spec": _POD},
    "/apis/apps/v1/namespaces/default/deployments": {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}},
    "/apis/batch/v1/namespaces/default/jobs": {
        "spec": {"podFailurePolicy": {"rules": []}, "template": {"spec": {**_POD, "restartPolicy": "Never"}}}
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims": {"spec": {"devices": {"requests": []}}},
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": {"spec": {"podSelector": {}, "ingress": [], "egress": [{"to": []}]}},
}
"""Objects with empty lists, by the paths of their collections."""
_LEFT_OUT: Final = {**LEFT_OUT, ".spec.clusterIP": "no addresses of Services"}


def _compare(guarded: GuardedPair, step: Step) -> list[str]:
    found = guarded.differences(step)
    return [text for text in found if not any(part in text for part in _LEFT_OUT)]


def test_reviews(builtin_pair: Pair, tmp_path: Path) -> None:
    """Ask webhooks about new and changed objects of all kinds as the reference does."""
    with AdmissionWebhook(tmp_path) as webhook, builtin_pair.served(MARKER_CRD):
        guarded = GuardedPair(builtin_pair, webhook)
        hooks = [admission.hook(f"{name}.example.com", _EVERY) for name in ("m-every", "every")]
        with guarded.installed(admission.mutating("every", hooks[0]), admission.validating("every", hooks[1])):
            found = [text for one in builtin_objects() for text in _compare(guarded, _dry(one))]
            for path, obj in _EMPTY.items():
                found += _life(guarded, path, {"metadata": {"name": "empty"}, **obj})

    assert_none(found)


def _dry(one: BuiltinObject) -> Step:
    return Step("POST", f"{one.collection}?dryRun=All", one.obj)


def _life(guarded: GuardedPair, path: str, obj: dict[str, Any]) -> list[str]:
    name = f"{path}/{obj['metadata']['name']}"
    steps = [Step("POST", f"{path}?dryRun=All", obj), Step("POST", path, obj), Step("GET", name), Step("PATCH", name, _CHANGE)]
    try:
        return [text for step in steps for text in _compare(guarded, step)]
    finally:
        for _, side in guarded.sides:
            side.raw(Step("DELETE", f"{name}?gracePeriodSeconds=0&propagationPolicy=Background"))
