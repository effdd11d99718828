"""Webhooks for kinds that are no custom resources, and configurations whose webhook cannot be called."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import GROUP, RULE, Json
from tests.differential.cases.admission_scenarios import ANN
from tests.differential.helpers.write_steps import MERGE, applied, current
from tests.support.builders.admission import collection, hook, mutating, rule, validating, validating_binding
from tests.support.builders.crds import crd

_GUARDED: Final = "guarded.example.com"
"""A label: webhooks for everything must not meet the objects of servers and other tests."""
_LABELS: Final = {"labels": {_GUARDED: "yes"}}
_SELECTED: Final = {"objectSelector": {"matchLabels": {_GUARDED: "yes"}}}
EVERYTHING: Final = [
    mutating("every", hook("m-every.example.com", rule("*/*"), **_SELECTED)),
    validating("every", hook("every.example.com", rule("*/*"), **_SELECTED)),
]
_GRANTS: Final = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CRD: Final = crd("others", kind="Other", group="other.admission.example.com")

_CRD_PATH: Final = f"{CRDS}/{_CRD['metadata']['name']}"
_THINGS: Final = f"{CRDS}/things.{GROUP}"


def _life(path: str, obj: Json, change: Json) -> list[Step]:
    """Return the requests of an object's life."""
    made = obj | {"metadata": obj["metadata"] | _LABELS}
    one = f"{path}/{made['metadata']['name']}"
    return [
        Step("POST", f"{path}?dryRun=All", made),
        Step("POST", path, made),
        Step("PUT", one, made | {"metadata": made["metadata"] | current(one)} | change),
        Step("PATCH", f"{one}?dryRun=All", {"metadata": {"annotations": {"a": "b"}}}, MERGE),
        applied(one, {key: made[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": made["metadata"]["name"]} | _LABELS}),
        Step("DELETE", f"{one}?dryRun=All"),
        Step("DELETE", f"{path}?labelSelector={_GUARDED}%3Dyes&dryRun=All"),
        Step("DELETE", one),
    ]


def _named(api: str, kind: str, **members: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "guarded"}} | members


KINDS: Final[dict[str, list[Step]]] = {
    "ConfigMap": _life("/api/v1/namespaces/default/configmaps", _named("v1", "ConfigMap", data={"a": "b"}), {"data": {"c": "d"}}),
    "Secret": _life("/api/v1/namespaces/default/secrets", _named("v1", "Secret", stringData={"a": "b"}), {"data": {"c": "ZA=="}}),
    "Lease": _life(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        _named("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "x"}),
        {"spec": {"holderIdentity": "y"}},
    ),
    "Role": _life(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        _named("rbac.authorization.k8s.io/v1", "Role", rules=_GRANTS),
        {"rules": [*_GRANTS, *_GRANTS]},
    ),
    "ClusterRole": _life(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        _named("rbac.authorization.k8s.io/v1", "ClusterRole", rules=_GRANTS),
        {"rules": [*_GRANTS, *_GRANTS]},
    ),
    "ServiceAccount": _life(
        "/api/v1/namespaces/default/serviceaccounts",
        _named("v1", "ServiceAccount"),
        {"automountServiceAccountToken": False},
    ),
    "Event": [
        Step(
            "POST",
            "/api/v1/namespaces/default/events?dryRun=All",
            _named("v1", "Event", involvedObject={"namespace": "default"}) | {"metadata": {"name": "guarded"} | _LABELS},
        )
    ],
    "Namespace": [
        Step("POST", "/api/v1/namespaces?dryRun=All", _named("v1", "Namespace") | {"metadata": {"name": "guarded"} | _LABELS}),
        Step("PATCH", "/api/v1/namespaces/team-a", {"metadata": _LABELS}, MERGE),
        Step("PATCH", "/api/v1/namespaces/team-a/status?dryRun=All", {"status": {"phase": "Active"}}, MERGE),
        Step("DELETE", "/api/v1/namespaces/team-a?dryRun=All"),
        Step("PATCH", "/api/v1/namespaces/team-a", {"metadata": {"labels": {_GUARDED: None}}}, MERGE),
    ],
    "CustomResourceDefinition": [
        Step("POST", f"{CRDS}?dryRun=All", _CRD | {"metadata": _CRD["metadata"] | _LABELS}),
        Step("PATCH", f"{_THINGS}?dryRun=All", {"metadata": _LABELS, "spec": {"names": {"shortNames": ["th"]}}}, MERGE),
        Step("PATCH", f"{_THINGS}/status?dryRun=All", {"metadata": _LABELS}, MERGE),
        applied(_CRD_PATH, _CRD | {"metadata": _CRD["metadata"] | _LABELS}, "fieldManager=x&dryRun=All"),
    ],
}
"""Requests about other kinds."""

CREATES: Final = [steps[0] for steps in KINDS.values() if steps[0].method == "POST"]
"""A dry creation of an object of each kind."""


def labelled(creation: Step, **labels: str) -> Step:
    """Return a creation of an object with other labels."""
    return replace(creation, body=creation.body | {"metadata": creation.body["metadata"] | {"labels": labels}})


_ATTRIBUTES: Final = {"namespace": "default", "verb": "get", "resource": "pods"}


def _review(group: str, kind: str, plural: str, **spec: Any) -> Step:
    namespaced = "/namespaces/default" if kind.startswith("Local") else ""
    metadata = {"namespace": "default"} if namespaced else {}
    body = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata | _LABELS} | ({"spec": spec} if spec else {})
    return Step("POST", f"/apis/{group}/v1{namespaced}/{plural}", body, ANN)


def _token_request(**metadata: str) -> Step:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": {"audiences": ["any"]}}
    return Step("POST", "/api/v1/namespaces/default/serviceaccounts/default/token?dryRun=All", body)


TOKENS: Final = [
    _token_request(),
    _token_request(name="default", namespace="default"),
    _token_request(name="other"),
]
"""Requests for tokens of a ServiceAccount, whose name the path has."""
_IS_DEFAULT: Final = {"name": "default", "expression": "request.name == 'default'"}
TOKEN_HOOKS: Final = [
    made(kind, hook(f"{kind}.example.com", rule("serviceaccounts/token", group=""), matchConditions=[_IS_DEFAULT]))
    for kind, made in (("mutating", mutating), ("validating", validating))
]


def _configuration(made: Json) -> Step:
    return Step("POST", f"{collection(made['kind'])}?dryRun=All", made | {"metadata": made["metadata"] | _LABELS})


EXEMPT: Final[Sequence[Step]] = (
    _review("authentication.k8s.io", "TokenReview", "tokenreviews", token="any"),
    _review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    _review("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", user="x", resourceAttributes=_ATTRIBUTES),
    _review("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", resourceAttributes=_ATTRIBUTES),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", user="x", resourceAttributes=_ATTRIBUTES),
    _configuration(validating_binding("guarded", "missing")),
    _configuration(validating("guarded", hook("x.example.com", clientConfig={"url": "https://x.example.com/"}))),
)
"""Requests that webhooks never see."""

UNREACHABLE: Final[dict[str, Json]] = {
    "nobody listens": {"url": "https://127.0.0.1:1/x"},
    "unknown authority": {"url": "https://127.0.0.1:{port}/x"},
    "no such host": {"url": "https://no-such-host.invalid/x"},
}
"""clientConfigs of webhooks that cannot be called."""


def unreachable(client_config: Json, policy: str) -> list[Json]:
    """Return configurations with a clientConfig."""
    members: Json = {"clientConfig": client_config, "failurePolicy": policy}
    mutator, validator = (hook(f"{name}.example.com", RULE, **members) for name in ("m-broken", "broken"))
    return [mutating("broken", mutator), validating("broken", validator)]
