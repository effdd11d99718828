"""Access reviews, rules reviews and the requesting user."""

import json
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Step
from tests.differential.helpers.rbac_pair import RBACPair, as_user

pytestmark = pytest.mark.slow

AUTHORIZATION: Final = "/apis/authorization.k8s.io/v1"
AUTHENTICATION: Final = "/apis/authentication.k8s.io/v1"
POD: Final = {"verb": "get", "resource": "pods", "namespace": "x"}
RESOURCE: Final = {"resourceAttributes": POD}
SELECTORS: Final[tuple[dict[str, Any], ...]] = (
    {"fieldSelector": {}, "labelSelector": {"rawSelector": "a in"}},
    {"labelSelector": {"rawSelector": "a in"}, "fieldSelector": {"rawSelector": "a"}},
    {"labelSelector": {"rawSelector": "a,b=c"}, "fieldSelector": {"rawSelector": "a=b,c!=d"}},
    {"labelSelector": {"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]}},
    {
        "labelSelector": {
            "requirements": [
                {"key": "a", "operator": "In"},
                {"key": "_", "operator": "Foo"},
                {"key": "x", "operator": "Exists", "values": ["a"]},
                {"key": "y", "operator": "In", "values": ["a b"]},
            ]
        },
        "fieldSelector": {
            "requirements": [
                {"key": "", "operator": "In"},
                {"key": "b", "operator": "In", "values": ["1", "2"]},
                {"key": "c", "operator": "Exists", "values": ["3"]},
            ]
        },
    },
    {
        "labelSelector": {"requirements": [{"key": "a", "operator": "Foo"}]},
        "fieldSelector": {
            "requirements": [{"key": "b", "operator": "In", "values": ["1", "2"]}, {"key": "b", "operator": "In", "values": ["1"]}]
        },
    },
    {"labelSelector": {"requirements": [{"key": "a", "operator": "NotIn", "values": ["1"]}, {"key": "b", "operator": "DoesNotExist"}]}},
)
SPECS: Final[tuple[dict[str, Any], ...]] = (
    {},
    RESOURCE,
    {"user": "u", **RESOURCE},
    {"groups": ["system:masters"], **RESOURCE},
    {"user": "u", "groups": ["system:authenticated"], "extra": {"a": ["b"], "c": []}, "uid": "3", **RESOURCE},
    {"user": "u", **RESOURCE, "nonResourceAttributes": {"path": "/x"}},
    {"user": "u", "groups": ["system:authenticated"], "nonResourceAttributes": {"path": "/api", "verb": "get"}},
    {"user": "u", "nonResourceAttributes": {}},
    *({"user": "u", "resourceAttributes": {"verb": "list", **selector}} for selector in SELECTORS),
)
KINDS: Final = (
    "subjectaccessreviews",
    "selfsubjectaccessreviews",
    "namespaces/x/localsubjectaccessreviews",
    "namespaces/y/localsubjectaccessreviews",
)


def test_access_reviews(servers: RBACPair) -> None:
    """Validate and answer access reviews alike."""
    steps = [Step("POST", f"{AUTHORIZATION}/{kind}", {"spec": spec}) for kind in KINDS for spec in SPECS]
    for kind, metadata in (
        (KINDS[0], {"name": "x", "labels": {"b": "1", "a": "2"}}),
        (KINDS[2], {"namespace": "x"}),
        (KINDS[2], {"name": "x"}),
    ):
        steps.append(Step("POST", f"{AUTHORIZATION}/{kind}", {"metadata": metadata, "spec": {"user": "u", **RESOURCE}}))

    servers.check(steps)


@pytest.mark.parametrize(
    "plural", [f"{AUTHORIZATION}/subjectaccessreviews", f"{AUTHENTICATION}/tokenreviews", f"{AUTHENTICATION}/selfsubjectreviews"]
)
def test_requests(servers: RBACPair, plural: str) -> None:
    """Answer invalid bodies, other methods and paths, and options of writes alike."""
    bodies: tuple[Any, ...] = (
        b"",
        b"{x",
        b"[]",
        b"null",
        {"kind": "Foo", "apiVersion": "v1"},
        {"spec": {"token": 7}},
        {"spec": {"extra": {"a": 1}}},
    )
    bodies += ({"spec": []}, {"spec": {"user": 7}}, {"spec": {"extra": 7}}, {"metadata": 7})
    good = {"spec": {"token": "t", "user": "u", "resourceAttributes": {"verb": "get"}}, "foo": 1}
    queries = (
        "dryRun=All",
        "dryRun=x",
        "fieldValidation=Strict",
        "fieldValidation=Warn",
        "fieldValidation=x",
        "fieldManager=me",
        "pretty=true",
    )
    steps = [Step("POST", plural, body) for body in bodies] + [Step("POST", f"{plural}?{query}", good) for query in queries]
    steps += [Step(method, plural) for method in ("GET", "PUT", "DELETE", "PATCH")] + [
        Step("GET", f"{plural}/x"),
        Step("POST", f"{plural}/x", {}),
    ]
    accepted = ("application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1", "text/plain")
    steps += [Step("POST", plural, good, headers={"Accept": media}) for media in accepted]
    steps.append(Step("POST", plural, b"spec: {token: a, nonResourceAttributes: {path: /}}", headers={"Content-Type": "application/yaml"}))

    servers.check([as_user(step, "ann", "system:masters") for step in steps])


def test_paths(servers: RBACPair) -> None:
    """Answer paths with and without a namespace alike, and discovery."""
    paths = ("localsubjectaccessreviews", "namespaces/x/subjectaccessreviews", "foo", "namespaces/x/localsubjectaccessreviews/y")
    steps = [Step("POST", f"{AUTHORIZATION}/{path}", {"spec": {"user": "u", **RESOURCE}}) for path in paths]
    steps += [Step("GET", path) for path in (AUTHORIZATION, AUTHENTICATION, AUTHORIZATION[:-3], AUTHENTICATION[:-3])]

    servers.check(steps)


def test_requesting_user(servers: RBACPair) -> None:
    """Return the impersonated user."""
    body = {"metadata": {"name": "q"}, "status": {"userInfo": {"username": "z"}}}
    steps = [as_user(Step("POST", f"{AUTHENTICATION}/selfsubjectreviews", body), name) for name in ("ann", "system:serviceaccount:x:y")]
    steps.append(as_user(Step("POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": RESOURCE}), "nobody"))
    steps.append(as_user(Step("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {}), "nobody"))

    servers.check(steps)


def test_rules(servers: RBACPair) -> None:
    """Return the rules of a user. The reference's are in a random order."""
    for name in ("nobody", "system:kube-scheduler"):
        for namespace in ("rbac-a", "none", "kube-system"):
            step = as_user(Step("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": namespace}}), name)
            theirs, ours = (_sorted(side.ask(step).body) for side in (servers.pair.reference, servers.pair.ours))
            assert theirs == ours


def _sorted(body: Any) -> Any:
    for rules in ("resourceRules", "nonResourceRules"):
        body["status"][rules].sort(key=json.dumps)
    return body


def test_protobuf(servers: RBACPair) -> None:
    """Return equal bytes in Protobuf."""
    accept = {"Accept": "application/vnd.kubernetes.protobuf"}
    spec = {"user": "u", "groups": ["a", "b"], "extra": {"k": ["1", "2"], "l": []}, **RESOURCE}
    steps = [
        Step("POST", f"{AUTHORIZATION}/subjectaccessreviews?fieldManager=x", {"spec": spec}, headers=accept),
        as_user(Step("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, headers=accept), "ann"),
        as_user(Step("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "x"}}, headers=accept), "ann"),
    ]
    for step in steps[1:]:
        theirs, ours = (side.raw(step)[1] for side in (servers.pair.reference, servers.pair.ours))
        assert len(theirs) == len(ours)
        assert theirs[:60] == ours[:60]
    theirs, ours = (side.raw(steps[0])[1] for side in (servers.pair.reference, servers.pair.ours))
    assert len(theirs) == len(ours)
