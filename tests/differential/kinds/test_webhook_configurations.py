"""Tests of webhook configurations against the reference: defaults, validation, and the life of objects."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps

pytestmark = pytest.mark.slow

V1: Final = "admissionregistration.k8s.io/v1"
ROOT: Final = f"/apis/{V1}"
_RULE: Final = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
_HOOK: Final[dict[str, Any]] = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/a"},
    "rules": [_RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_SERVICE: Final = {"namespace": "default", "name": "hook"}
HOOKS: Final[tuple[Any, ...]] = (
    {},
    {"name": "a"},
    {"name": "a.b"},
    {"name": "A.b.c"},
    {"name": ""},
    {"failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30, "sideEffects": "NoneOnDryRun"},
    {"failurePolicy": "Other", "matchPolicy": "", "timeoutSeconds": 31, "sideEffects": "Some"},
    {"failurePolicy": 1},
    {"timeoutSeconds": 0},
    {"timeoutSeconds": "1"},
    {"sideEffects": None},
    {"sideEffects": "Unknown"},
    {"admissionReviewVersions": []},
    {"admissionReviewVersions": None},
    {"admissionReviewVersions": ["v1beta1", "v1"]},
    {"admissionReviewVersions": ["v2", "v2", "A"]},
    {"admissionReviewVersions": ["v1", "v1", ""]},
    {"reinvocationPolicy": "IfNeeded"},
    {"reinvocationPolicy": "Other"},
    {"unknown": 1},
    {"objectSelector": {"matchLabels": {"a": "b"}}, "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
    {"objectSelector": {"matchLabels": {"A B": "b"}}, "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
    {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}},
    {"namespaceSelector": None, "objectSelector": []},
)
CLIENTS: Final[tuple[Any, ...]] = (
    {},
    None,
    {"service": _SERVICE},
    {"service": {**_SERVICE, "path": "/a/b", "port": 8443}, "caBundle": "AAAA"},
    {"service": {}},
    {"service": {"name": "x"}, "url": "https://a"},
    {"service": {**_SERVICE, "path": "a//B", "port": 0}},
    {"service": {**_SERVICE, "path": "//"}},
    {"service": {**_SERVICE, "port": 70000}},
    {"url": "http://a.example.com"},
    {"url": "https://u:p@a.example.com/x?y=z#f"},
    {"url": ""},
    {"url": "https://"},
    {"url": "a:b", "caBundle": "="},
)
RULES: Final[tuple[Any, ...]] = (
    [],
    None,
    [{}],
    [None],
    [_RULE, _RULE],
    [{**_RULE, "scope": "Cluster"}],
    [{**_RULE, "scope": "cluster"}],
    [{**_RULE, "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}],
    [{**_RULE, "operations": ["*", "CREATE"], "apiGroups": ["*", "a"], "apiVersions": ["*", "", "v1"]}],
    [{**_RULE, "operations": ["create", ""], "apiVersions": [""], "resources": [""]}],
    [{**_RULE, "resources": ["*/*", "a"]}],
    [{**_RULE, "resources": ["*", "a"]}],
    [{**_RULE, "resources": ["a", "*"]}],
    [{**_RULE, "resources": ["a", "*", "b/c"]}],
    [{**_RULE, "resources": ["a/*", "a/b"]}],
    [{**_RULE, "resources": ["a/b", "a/*"]}],
    [{**_RULE, "resources": ["*/b", "a/b", "*/c"]}],
    [{**_RULE, "resources": ["a/b/c"]}],
    [{**_RULE, "operations": ["CONNECT", "DELETE", "UPDATE"]}],
    [{**_RULE, "apiGroups": "a"}],
    [{**_RULE, "apiGroups": [1]}],
    [{**_RULE, "apiGroups": ["authentication.k8s.io", "b"], "resources": ["tokenreviews", "x", "tokenreviews"]}],
    [
        {
            **_RULE,
            "apiGroups": ["authorization.k8s.io", "authentication.k8s.io"],
            "resources": ["selfsubjectreviews", "subjectaccessreviews"],
        }
    ],
    [{**_RULE, "apiGroups": ["authorization.k8s.io", "*"], "resources": ["subjectaccessreviews"]}],
)
CONDITIONS: Final[tuple[Any, ...]] = (
    [],
    None,
    [{"name": "a", "expression": "true"}],
    [{"name": "a.b/c", "expression": " request.operation == 'CREATE' "}],
    [{"name": "a", "expression": "true"}, {"name": "a", "expression": "false"}],
    [{"name": "A B", "expression": " "}, {}],
    [{"name": "a", "expression": "1"}],
    [{"name": "a", "expression": "params.x"}],
    [{"name": "a", "expression": "variables.x"}],
    [{"name": "a", "expression": "nothing(object)"}],
    [{"name": "a", "expression": "authorizer.group('a').resource('b').check('get').allowed()"}],
    [{"name": f"n{n}", "expression": "true"} for n in range(65)],
    [{"name": "a", "expression": 1}],
)


def _object(kind: str, hooks: Any, name: str = "kept") -> dict[str, Any]:
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name}, "webhooks": hooks}


def _hooks() -> list[list[Any]]:
    return [
        *([{**_HOOK, **members}] for members in HOOKS),
        *([{**_HOOK, "clientConfig": client}] for client in CLIENTS),
        *([{**_HOOK, "rules": rules}] for rules in RULES),
        *([{**_HOOK, "matchConditions": conditions}] for conditions in CONDITIONS),
        [{}],
        [None],
        [_HOOK, _HOOK],
        [{**_HOOK, "name": ""}, {**_HOOK, "name": ""}],
    ]


WEBHOOKS: Final[tuple[Any, ...]] = ([], None, {}, "x", *_hooks())
_CHANGES: Final[list[dict[str, Any]]] = [
    *({"webhooks": hooks} for hooks in WEBHOOKS if isinstance(hooks, list) and len(hooks) != 1),
    *({"webhooks": [{**_HOOK, **members}]} for members in HOOKS[1:7]),
    *({"webhooks": [{**_HOOK, "matchConditions": conditions}]} for conditions in CONDITIONS[:8]),
    {"webhooks": [{**_HOOK, "name": "b.example.com"}]},
    {"webhooks": [{"name": "a.example.com", "$patch": "delete"}]},
    {"webhooks": [{"name": "a.example.com", "timeoutSeconds": 3}]},
    {"webhooks": None},
]
KINDS: Final = {
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
}


@pytest.mark.parametrize("plural", KINDS)
def test_creations(pair: Pair, plural: str) -> None:
    """Return equal defaults, errors and warnings for new configurations."""
    kind, collection = KINDS[plural], f"{ROOT}/{plural}"
    base = _object(kind, [_HOOK])
    steps = [
        *metadata_steps(collection, base),
        *creations(collection, base, ({"webhooks": hooks} for hooks in WEBHOOKS)),
        Step("POST", f"{collection}?dryRun=All", _object(kind, [_HOOK], "a.static.k8s.io")),
        Step("POST", f"{ROOT}/namespaces/default/{plural}", base),
        Step("GET", f"/apis/admissionregistration.k8s.io/v1beta1/{plural}"),
    ]
    compared(pair, steps)


@pytest.mark.parametrize("plural", KINDS)
def test_life(pair: Pair, plural: str) -> None:
    """Return equal codes, headers and bodies for the life of a configuration."""
    stored = [{**_HOOK, "matchConditions": CONDITIONS[2]}]
    compared(
        pair,
        life(f"{ROOT}/{plural}", _object(KINDS[plural], stored), _CHANGES, ("metadata.namespace%3Dx", "webhooks%3Dx"), conditional=True),
    )
