"""Tests of policies and bindings against the reference: defaults, validation, and the life of objects."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps
from tests.differential.helpers.policy_status import compared_with_status
from tests.differential.helpers.write_steps import MERGE, STRATEGIC, applied, current

pytestmark = pytest.mark.slow

V1: Final = "admissionregistration.k8s.io/v1"
ROOT: Final = f"/apis/{V1}"
_RULE: Final = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
_CONSTRAINTS: Final[dict[str, Any]] = {"resourceRules": [_RULE]}
MATCHED: Final[tuple[Any, ...]] = (
    {},
    None,
    [],
    {"resourceRules": []},
    {"resourceRules": [{}]},
    {"resourceRules": [{**_RULE, "resourceNames": ["a", "a", "b/c", "..", ""]}]},
    {"resourceRules": [{**_RULE, "operations": ["DELETE", "*", "x"]}]},
    {"resourceRules": [{**_RULE, "operations": ["CONNECT", "UPDATE"], "scope": "Cluster"}], "excludeResourceRules": [_RULE]},
    {"resourceRules": [_RULE], "excludeResourceRules": [{**_RULE, "resources": ["*", "a"], "scope": "x"}], "matchPolicy": "Exact"},
    {"resourceRules": [_RULE], "matchPolicy": "exact", "objectSelector": {"matchLabels": {"A B": "c d"}}},
    {
        "resourceRules": [_RULE],
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}, {"key": "a"}]},
    },
)
PARAM_KINDS: Final[tuple[Any, ...]] = (
    {"apiVersion": "v1", "kind": "ConfigMap"},
    {"apiVersion": "none.example.com/v1", "kind": "Nothing"},
    {},
    None,
    {"apiVersion": "a/b/c", "kind": "a b"},
    {"apiVersion": "a/", "kind": "1"},
    {"apiVersion": "A_/V1", "kind": "ConfigMap"},
    {"apiVersion": "/", "kind": "ConfigMap"},
    {"apiVersion": "/v1", "kind": "ConfigMap"},
    {"apiVersion": 1},
)
CONDITIONS: Final[tuple[Any, ...]] = (
    [],
    [{"name": "a", "expression": "true"}],
    [{"name": "a", "expression": "params.x == 1"}],
    [{"name": "a", "expression": "variables.x"}],
    [{"name": "a b", "expression": ""}, {"name": "", "expression": "1"}],
    [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}],
)
VARIABLES: Final[tuple[Any, ...]] = (
    [],
    [{"name": "x", "expression": "1"}],
    [{"name": "x", "expression": "object.spec.x"}, {"name": "y", "expression": "variables.x + 1"}],
    [{"name": "y", "expression": "variables.x"}, {"name": "x", "expression": "1"}],
    [{"name": "x", "expression": "variables.x"}],
    [{"name": "1x", "expression": ""}, {"name": " ", "expression": " "}, {"name": "in", "expression": "true"}, {}],
    [{"name": "x", "expression": "1"}, {"name": "x", "expression": "'a'"}],
    [{"name": "x", "expression": "nothing"}],
    [{"name": "x", "expression": "params"}],
)
_VALID: Final = {"expression": "object.spec.x > 0"}
VALIDATIONS: Final[tuple[Any, ...]] = (
    [],
    None,
    [{}],
    [{"expression": "true", "message": "a", "reason": "Invalid", "messageExpression": "'a' + string(object.x)"}],
    [{"expression": " ", "message": " ", "reason": "Unknown", "messageExpression": " "}],
    [{"expression": "true", "message": "a\nb", "reason": ""}],
    [{"expression": "true", "message": "\na\n"}],
    [{"expression": "1", "messageExpression": "1"}],
    [{"expression": "variables.x == 1"}, {"expression": "variables.y"}],
    [{"expression": "params.x == 1", "messageExpression": "params.y"}],
    [{"expression": "true", "messageExpression": "authorizer.group('').resource('a').check('get').reason()"}],
    [{"expression": "authorizer.group('').resource('a').check('get').allowed()"}],
    [{"expression": "object.x.map(y, y.map(z, z.map(a, a)))"}],
    [{"expression": "request.kind.group == 'x' && namespaceObject.metadata.labels['a'] == 'b' && oldObject == null"}],
    [{"expression": "request.nothing == 'x'"}],
    [{"expression": "namespaceObject.nothing == 'x'"}],
    [{"expression": 1}],
)
ANNOTATIONS: Final[tuple[Any, ...]] = (
    [],
    [{}],
    [{"key": "a", "valueExpression": "'x'"}],
    [{"key": "a", "valueExpression": " null "}, {"key": "a", "valueExpression": "1"}],
    [{"key": "a b", "valueExpression": "variables.x"}],
    [{"key": f"k{n}", "valueExpression": "'x'"} for n in range(21)],
    [{"key": "a", "valueExpression": f"'{'x' * 5200}'"}],
    [{"key": "x" * 64, "valueExpression": "object.x ? 'a' : null"}],
)
MUTATIONS: Final[tuple[Any, ...]] = (
    [],
    [{}],
    [{"patchType": "JSONPatch"}],
    [{"patchType": "ApplyConfiguration"}],
    [{"patchType": "Merge", "jsonPatch": {"expression": "x"}}],
    [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/x', value: 1}]"}}],
    [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}, "applyConfiguration": {"expression": "Object{}"}}],
    [{"patchType": "JSONPatch", "jsonPatch": {"expression": "Object{}"}}],
    [{"patchType": "JSONPatch", "jsonPatch": {"expression": " "}}],
    [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": " Object{spec: Object.spec{x: 1}} "}}],
    [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "{}"}, "jsonPatch": {}}],
    [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{spec: Object.other{x: 1}}"}}],
    [{"patchType": "ApplyConfiguration", "applyConfiguration": {}}],
    [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{x: variables.x}"}}],
)
_REFERENCE: Final = {"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"}
PARAM_REFS: Final[tuple[Any, ...]] = (
    _REFERENCE,
    {},
    None,
    {"name": "a/b", "selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": ""},
    {"selector": {"matchLabels": {"A B": "c d"}}, "parameterNotFoundAction": "Other"},
    {"selector": {"matchLabels": {"b": "c", "a": ""}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}},
    {"selector": {}, "parameterNotFoundAction": "Allow"},
    {"name": "x", "parameterNotFoundAction": "Allow"},
    {"name": 1},
)
ACTIONS: Final[tuple[Any, ...]] = (
    [],
    None,
    ["Deny"],
    ["Audit", "Warn"],
    ["Deny", "Warn"],
    ["Deny", "Deny"],
    ["deny", "x", "x"],
    "Deny",
)


def _object(kind: str, spec: Any, name: str = "kept") -> dict[str, Any]:
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name}, "spec": spec}


VALIDATING: Final[dict[str, Any]] = {"matchConstraints": _CONSTRAINTS, "validations": [_VALID]}
MUTATING: Final[dict[str, Any]] = {"matchConstraints": _CONSTRAINTS, "mutations": MUTATIONS[9], "reinvocationPolicy": "Never"}
_COMMON: Final[list[dict[str, Any]]] = [
    *({"matchConstraints": one} for one in MATCHED),
    *({"paramKind": one} for one in PARAM_KINDS),
    *({"matchConditions": one} for one in CONDITIONS),
    *({"variables": one} for one in VARIABLES),
    {"paramKind": PARAM_KINDS[0], "matchConditions": CONDITIONS[2], "variables": VARIABLES[8]},
    {"failurePolicy": "Ignore"},
    {"failurePolicy": ""},
    {"failurePolicy": None},
    {"unknown": 1},
]
VALIDATING_CHANGES: Final[list[dict[str, Any]]] = [
    *_COMMON,
    *({"validations": one} for one in VALIDATIONS),
    *({"auditAnnotations": one} for one in ANNOTATIONS),
    {"validations": [], "auditAnnotations": ANNOTATIONS[2]},
    {"variables": VARIABLES[2], "validations": VALIDATIONS[8], "auditAnnotations": ANNOTATIONS[4]},
    {"paramKind": PARAM_KINDS[0], "validations": VALIDATIONS[9]},
]
MUTATING_CHANGES: Final[list[dict[str, Any]]] = [
    *_COMMON,
    *({"mutations": one} for one in MUTATIONS),
    {"variables": VARIABLES[1], "mutations": MUTATIONS[13]},
    {"reinvocationPolicy": ""},
    {"reinvocationPolicy": "IfNeeded"},
    {"reinvocationPolicy": "x"},
]
BINDING: Final[dict[str, Any]] = {"policyName": "nothing", "validationActions": ["Deny"]}
BINDING_CHANGES: Final[list[dict[str, Any]]] = [
    *({"policyName": one} for one in ("", "A", "a.b", None, "a/b", 1)),
    *({"paramRef": one} for one in PARAM_REFS),
    *({"matchResources": one} for one in MATCHED),
    *({"validationActions": one} for one in ACTIONS),
]
KINDS: Final[dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]]] = {
    "validatingadmissionpolicies": ("ValidatingAdmissionPolicy", VALIDATING, VALIDATING_CHANGES),
    "mutatingadmissionpolicies": ("MutatingAdmissionPolicy", MUTATING, MUTATING_CHANGES),
    "validatingadmissionpolicybindings": ("ValidatingAdmissionPolicyBinding", BINDING, BINDING_CHANGES),
    "mutatingadmissionpolicybindings": ("MutatingAdmissionPolicyBinding", {"policyName": "nothing"}, BINDING_CHANGES),
}
_MISTYPED: Final[tuple[dict[str, Any], ...]] = (
    {"unknown": 1},
    {"matchConstraints": []},
    {"matchResources": []},
    {"paramKind": {"apiVersion": 1}},
    {"policyName": 1},
    {"paramRef": {"name": 1}},
    {"validationActions": "Deny"},
    {"validations": [{"expression": 1}]},
)


@pytest.mark.parametrize("plural", KINDS)
def test_creations(pair: Pair, plural: str) -> None:
    """Return equal defaults, errors and warnings for new objects."""
    kind, spec, changes = KINDS[plural]
    collection = f"{ROOT}/{plural}"
    steps = [
        *metadata_steps(collection, _object(kind, spec)),
        *creations(collection, _object(kind, spec), ({"spec": spec | change} for change in changes)),
        *creations(collection, _object(kind, spec), [{"spec": {}}, {"spec": None}, {"spec": "x"}, {"status": {"observedGeneration": 3}}]),
        Step("POST", f"{collection}?dryRun=All", _object(kind, spec, "a.static.k8s.io")),
        Step("POST", f"{collection}?dryRun=All", {**_object(kind, spec), "metadata": {"generateName": "gen-"}}),
    ]
    compared(pair, steps)


@pytest.mark.parametrize("plural", KINDS)
def test_life(pair: Pair, plural: str) -> None:
    """Return equal codes, headers and bodies for the life of an object."""
    kind, spec, all_changes = KINDS[plural]
    changes = [{"spec": spec | change} for change in all_changes[::3]]
    unconverted = [one for one in changes if any(one["spec"] == spec | bad for bad in _MISTYPED)]
    stored = _object(kind, spec | ({"paramRef": PARAM_REFS[5] | {"parameterNotFoundAction": "Deny"}} if "Binding" in kind else {}))
    steps = life(f"{ROOT}/{plural}", stored, changes, ("metadata.namespace%3Dx", "spec%3Dx"), unconverted, conditional=True)
    if plural == "validatingadmissionpolicies":
        compared_with_status(pair, steps, f"{ROOT}/{plural}/kept")
    else:
        compared(pair, steps)


def test_lists_with_keys(pair: Pair) -> None:
    """Merge match conditions and variables by name where the reference does."""
    collection = f"{ROOT}/validatingadmissionpolicies"
    one = f"{collection}/merged"
    spec = VALIDATING | {"matchConditions": CONDITIONS[1], "variables": VARIABLES[2]}
    change = {"spec": {"matchConditions": [{"name": "b", "expression": "false"}], "variables": [{"name": "x", "expression": "2"}]}}
    form = {"apiVersion": V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "merged"}}
    steps = [
        Step("POST", collection, _object("ValidatingAdmissionPolicy", spec, "merged")),
        Step("PATCH", f"{one}?dryRun=All", change, STRATEGIC),
        Step("PATCH", f"{one}?dryRun=All", change, MERGE),
        applied(one, form | change, "fieldManager=x&force=true"),
        Step("GET", one),
        Step("DELETE", one),
    ]
    compared_with_status(pair, steps, one)


STATUSES: Final[tuple[Any, ...]] = (
    {},
    {"observedGeneration": 1},
    {"typeChecking": {}},
    {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": "w"}]}},
    {"typeChecking": {"expressionWarnings": [{"fieldRef": "", "warning": ""}, {}]}},
    {"typeChecking": {"expressionWarnings": [{"fieldRef": "a[", "warning": "w"}, {"fieldRef": "{a", "warning": "w"}]}},
    {"conditions": [{"type": "A", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    {"conditions": [{"type": "a b", "status": "x"}, {}]},
    {"observedGeneration": "x"},
)


def test_status(pair: Pair) -> None:
    """Return equal codes and bodies for writes of the status."""
    collection = f"{ROOT}/validatingadmissionpolicies"
    one = f"{collection}/stated"
    policy = _object("ValidatingAdmissionPolicy", VALIDATING, "stated")
    kept = policy | {"metadata": {"name": "stated"} | current(one)}
    form = {"apiVersion": V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "stated"}}
    steps = [
        Step("POST", collection, {**policy, "metadata": {"name": "stated", "annotations": {"a": "b"}}}),
        *(Step("PUT", f"{one}/status?dryRun=All", kept | {"status": status}) for status in STATUSES),
        *(Step("PATCH", f"{one}/status?dryRun=All", {"status": status}, MERGE) for status in STATUSES),
        *(Step("PATCH", f"{one}/status?dryRun=All", {"status": status}, STRATEGIC) for status in STATUSES[:-1]),
        *(applied(f"{one}/status", form | {"status": status}, "fieldManager=x&force=true&dryRun=All") for status in STATUSES),
        Step("PATCH", f"{one}/status?dryRun=All", {"metadata": {"labels": {"x": "y"}}, "spec": {"failurePolicy": "Ignore"}}, MERGE),
        Step("PATCH", f"{one}?dryRun=All", {"status": STATUSES[1]}, MERGE),
        Step("POST", f"{one}/status", policy),
        Step("DELETE", f"{one}/status"),
        Step("DELETE", one),
    ]
    compared_with_status(pair, steps, one)
