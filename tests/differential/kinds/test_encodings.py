"""Tests of the Protobuf, YAML and watches of built-in kinds against the reference."""

import base64
from collections.abc import Iterator
from typing import Any, Final

import pytest

from apiext.base.meta import builtin_resources as resources
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.golang.struct_type import Struct
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from apiext.resources.registry.protobuf.objectmeta import list_message
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.documents import PROTOBUF
from tests.differential.helpers.policy_status import copy_status
from tests.differential.helpers.protobuf_objects import asking, frames, read_forms

pytestmark = pytest.mark.slow

NAME: Final = "encoded"
SPACE: Final = f"/api/v1/namespaces/{NAME}"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_META: Final = {"name": NAME, "labels": {"b": "c", "a": ""}, "annotations": {"z": "<&>"}}
_SELECTOR: Final = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x"]}]}
_SUBJECTS: Final = [{"kind": "User", "name": "ann"}, {"kind": "ServiceAccount", "name": "a", "namespace": "b"}]
_ROLE_REF: Final = {"kind": "ClusterRole", "name": "view"}
_RULES: Final = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"]}]
_RULE: Final = {"operations": ["CREATE"], "apiGroups": ["a.b"], "apiVersions": ["v1"], "resources": ["nothings"], "scope": "Namespaced"}
_WEBHOOK: Final = {
    "name": "a.example.com",
    "clientConfig": {"service": {"namespace": "n", "name": "s", "path": "/p", "port": 8443}, "caBundle": "AP8="},
    "rules": [_RULE],
    "failurePolicy": "Ignore",
    "matchPolicy": "Exact",
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "sideEffects": "None",
    "timeoutSeconds": 3,
    "admissionReviewVersions": ["v1", "v1beta1"],
    "matchConditions": [{"name": "c", "expression": "true"}],
}
_MATCHED: Final = {
    "namespaceSelector": _SELECTOR,
    "objectSelector": {},
    "resourceRules": [{"resourceNames": ["x"], **_RULE}],
    "excludeResourceRules": [_RULE],
    "matchPolicy": "Exact",
}
_POLICY: Final = {
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "matchConstraints": _MATCHED,
    "failurePolicy": "Ignore",
    "matchConditions": [{"name": "c", "expression": "true"}],
    "variables": [{"name": "v", "expression": "1"}],
}
_BINDING: Final = {
    "policyName": "nothing",
    "paramRef": {"name": "p", "namespace": "n", "parameterNotFoundAction": "Deny"},
    "matchResources": _MATCHED,
}
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
ADMISSION_OBJECTS: Final[dict[str, tuple[str, Struct, dict[str, Any]]]] = {
    "ValidatingWebhookConfiguration": (
        f"{ADMISSION}/validatingwebhookconfigurations",
        struct_of(resources.VALIDATING_WEBHOOK_CONFIGURATIONS.kind),
        {"webhooks": [_WEBHOOK, {**_WEBHOOK, "name": "b.example.com", "clientConfig": {"url": "https://a"}}]},
    ),
    "MutatingWebhookConfiguration": (
        f"{ADMISSION}/mutatingwebhookconfigurations",
        struct_of(resources.MUTATING_WEBHOOK_CONFIGURATIONS.kind),
        {"webhooks": [_WEBHOOK | {"reinvocationPolicy": "IfNeeded"}]},
    ),
    "ValidatingAdmissionPolicy": (
        f"{ADMISSION}/validatingadmissionpolicies",
        struct_of(resources.VALIDATING_ADMISSION_POLICIES.kind),
        {
            "spec": _POLICY
            | {
                "validations": [{"expression": "true", "message": "m", "reason": "Invalid", "messageExpression": "'x'"}],
                "auditAnnotations": [{"key": "k", "valueExpression": "'x'"}],
            }
        },
    ),
    "MutatingAdmissionPolicy": (
        f"{ADMISSION}/mutatingadmissionpolicies",
        struct_of(resources.MUTATING_ADMISSION_POLICIES.kind),
        {
            "spec": _POLICY
            | {
                "mutations": [
                    {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/x'}]"}},
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
                ],
                "reinvocationPolicy": "Never",
            }
        },
    ),
    "ValidatingAdmissionPolicyBinding": (
        f"{ADMISSION}/validatingadmissionpolicybindings",
        struct_of(resources.VALIDATING_ADMISSION_POLICY_BINDINGS.kind),
        {"spec": _BINDING | {"validationActions": ["Deny", "Audit"]}},
    ),
    "MutatingAdmissionPolicyBinding": (
        f"{ADMISSION}/mutatingadmissionpolicybindings",
        struct_of(resources.MUTATING_ADMISSION_POLICY_BINDINGS.kind),
        {"spec": _BINDING},
    ),
}
OBJECTS: Final[dict[str, tuple[str, Struct, dict[str, Any]]]] = {
    "ServiceAccount": (
        f"{SPACE}/serviceaccounts",
        struct_of(resources.SERVICE_ACCOUNTS.kind),
        {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}, {}], "automountServiceAccountToken": False},
    ),
    "ConfigMap": (
        f"{SPACE}/configmaps",
        struct_of(resources.CONFIG_MAPS.kind),
        {"data": {"b": "", "a": "größer"}, "binaryData": {"x": "AP8=", "y": ""}, "immutable": False},
    ),
    "Secret": (
        f"{SPACE}/secrets",
        struct_of(resources.SECRETS.kind),
        {"data": {"b": "", "a": "AP8="}, "stringData": {"c": "x"}, "type": "example.com/x"},
    ),
    "Lease": (
        f"/apis/coordination.k8s.io/v1/namespaces/{NAME}/leases",
        struct_of(resources.LEASES.kind),
        {"spec": {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.500000Z"}},
    ),
    "Event": (
        f"/apis/events.k8s.io/v1/namespaces/{NAME}/events",
        struct_of(resources.EVENTS_V1.kind),
        {
            "eventTime": "2020-01-01T00:00:00.000001Z",
            "reportingController": "c",
            "reportingInstance": "i",
            "action": "a",
            "reason": "r",
            "type": "Normal",
            "regarding": {"namespace": NAME},
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.500000Z"},
        },
    ),
    "Role": (f"{RBAC}/namespaces/{NAME}/roles", struct_of(resources.ROLES.kind), {"rules": _RULES}),
    "ClusterRole": (
        f"{RBAC}/clusterroles",
        struct_of(resources.CLUSTER_ROLES.kind),
        {
            "rules": [*_RULES, {"verbs": ["get"], "nonResourceURLs": ["/x"]}],
            "aggregationRule": {"clusterRoleSelectors": [_SELECTOR, {}]},
        },
    ),
    "RoleBinding": (
        f"{RBAC}/namespaces/{NAME}/rolebindings",
        struct_of(resources.ROLE_BINDINGS.kind),
        {"roleRef": _ROLE_REF, "subjects": _SUBJECTS},
    ),
    **ADMISSION_OBJECTS,
    "ClusterRoleBinding": (f"{RBAC}/clusterrolebindings", struct_of(resources.CLUSTER_ROLE_BINDINGS.kind), {"roleRef": _ROLE_REF}),
}
_OWN: Final = f"fieldSelector=metadata.name%3D{NAME}"
INITIAL: Final = f"watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&{_OWN}"


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create an object of each kind on both servers; delete them at the end."""
    compared(pair, [Step("POST", "/api/v1/namespaces", {"metadata": {"name": NAME}})])
    compared(pair, [Step("POST", path, {"metadata": _META} | members) for path, _, members in OBJECTS.values()])
    copy_status(pair, f"{ADMISSION}/validatingadmissionpolicies/{NAME}")
    yield pair
    compared(pair, [Step("DELETE", f"{path}/{NAME}") for path, _, _ in OBJECTS.values()])
    for side in (pair.reference, pair.ours):
        side.raw(Step("DELETE", f"/api/v1/namespaces/{NAME}"))
        side.raw(Step("PUT", f"/api/v1/namespaces/{NAME}/finalize", {"metadata": {"name": NAME}}))


@pytest.mark.parametrize("kind", OBJECTS)
def test_protobuf(served: Pair, kind: str) -> None:
    """Encode the reference's JSON to the reference's Protobuf bytes, and serve apiext's own objects and lists so."""
    path, struct, _ = OBJECTS[kind]
    message = message_of(struct)
    for step, form in ((asking(f"{path}/{NAME}"), message), (asking(f"{path}?{_OWN}"), list_message(message))):
        theirs, reference_bytes, from_reference = read_forms(served.reference, step, form)
        ours, own_bytes, from_own = read_forms(served.ours, step, form)
        served.compared += 1
        assert reference_bytes == from_reference
        assert own_bytes == from_own
        assert masked(ours) == masked(theirs)


@pytest.mark.parametrize("kind", OBJECTS)
def test_bodies(served: Pair, kind: str) -> None:
    """Accept bodies in Protobuf, as client-go sends them."""
    path, struct, members = OBJECTS[kind]
    version = "v1" if path.startswith("/api/") else path.split("/namespaces")[0].removeprefix("/apis/")
    version = "/".join(version.split("/")[:2])
    plain = {name: value for name, value in members.items() if name != "stringData"}
    body = kinds.dumps(version, kind, message_of(struct).write(struct.canonical({"metadata": {"name": "sent"}} | plain)))
    for accept in ("application/json", "application/yaml", "application/cbor"):
        compared(served, [Step("POST", f"{path}?dryRun=All", body, {"Content-Type": PROTOBUF, "Accept": accept})])


@pytest.mark.parametrize("kind", ["Secret", "Event", "ClusterRole"])
def test_watches(served: Pair, kind: str) -> None:
    """Send equal frames and events in watches."""
    path, struct, _ = OBJECTS[kind]
    step = Step("GET", f"{path}?{INITIAL}&timeoutSeconds=1", headers=asking("").headers)
    theirs, ours = served.at_once(lambda side: frames(side, step, message_of(struct)))
    served.compared += 1

    assert ours == theirs
    assert ours[0] == f"{PROTOBUF};stream=watch"
    assert [event for event, _ in ours[1]] == ["ADDED", "BOOKMARK"]


def test_stored_bytes_are_the_same(served: Pair) -> None:
    """Keep bytes that are no UTF-8."""
    for side in (served.reference, served.ours):
        found = side.ask(Step("GET", f"{SPACE}/secrets/{NAME}")).body["data"]
        assert base64.b64decode(found["a"]) == b"\x00\xff"
