"""Policies and bindings of users that may not read the parameters."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Step
from hack.lib.differential.rbac_cases import API, GROUP
from tests.differential.helpers.policy_status import copy_status
from tests.differential.helpers.rbac_pair import RBACPair, as_user, must
from tests.differential.helpers.write_steps import MERGE

pytestmark = pytest.mark.slow

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_RULE: Final = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
_MATCHED: Final = {"matchConstraints": {"resourceRules": [_RULE]}}
SPECS: Final[dict[str, dict[str, Any]]] = {
    "validating": {**_MATCHED, "validations": [{"expression": "true"}]},
    "mutating": {
        **_MATCHED,
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
    },
}
KINDS: Final = (
    {"apiVersion": "v1", "kind": "ConfigMap"},
    {"apiVersion": "v1", "kind": "Secret"},
    {"apiVersion": "none.example.com/v1", "kind": "Nothing"},
    None,
)
REFERENCES: Final = (
    {"name": "p", "namespace": "rbac-a", "parameterNotFoundAction": "Deny"},
    {"name": "p", "parameterNotFoundAction": "Deny"},
    {"selector": {}, "namespace": "rbac-a", "parameterNotFoundAction": "Allow"},
    None,
)
USERS: Final = ("par-ann", "par-bob", "par-root")


def _prepared() -> Iterator[Step]:
    """Yield rights: all users may write policies and bindings; par-bob may read ConfigMaps, par-root everything."""
    writes = {"verbs": ["*"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"]}
    reads = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}
    for name, rules in (("par-writer", [writes]), ("par-reader", [writes, reads])):
        yield Step("POST", f"{API}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    for user, role in zip(USERS, ("par-writer", "par-reader", "cluster-admin"), strict=True):
        subject = {"apiGroup": GROUP, "kind": "User", "name": user}
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
        yield Step("POST", f"{API}/clusterrolebindings", {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]})
    for phase, spec in SPECS.items():
        for number, kind in enumerate(KINDS):
            body = {"metadata": {"name": f"par-{number}"}, "spec": spec | ({"paramKind": kind} if kind else {})}
            yield Step("POST", f"{ADMISSION}/{phase}admissionpolicies", body)
        binding = {"policyName": "par-0", **({"validationActions": ["Deny"]} if phase == "validating" else {}), "paramRef": REFERENCES[0]}
        yield Step("POST", f"{ADMISSION}/{phase}admissionpolicybindings", {"metadata": {"name": "par"}, "spec": binding})


def _writes(phase: str) -> Iterator[Step]:
    policies, bindings = f"{ADMISSION}/{phase}admissionpolicies", f"{ADMISSION}/{phase}admissionpolicybindings"
    actions = {"validationActions": ["Deny"]} if phase == "validating" else {}
    for kind in KINDS:
        more = {"paramKind": kind} if kind else {}
        yield Step("POST", f"{policies}?dryRun=All", {"metadata": {"name": "new"}, "spec": SPECS[phase] | more})
        yield Step("PATCH", f"{policies}/par-0?dryRun=All", {"spec": {"paramKind": kind}}, MERGE)
        yield Step("PATCH", f"{policies}/par-3?dryRun=All", {"spec": {"paramKind": kind}}, MERGE)
    yield Step("POST", f"{policies}?dryRun=All", {"metadata": {"name": "new"}, "spec": {"paramKind": KINDS[0]}})
    for name in ("par-0", "par-2", "par-3", "missing"):
        for reference in REFERENCES:
            spec = {"policyName": name, **actions} | ({"paramRef": reference} if reference else {})
            yield Step("POST", f"{bindings}?dryRun=All", {"metadata": {"name": "new"}, "spec": spec})
    yield Step("PATCH", f"{bindings}/par?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    yield Step("PATCH", f"{bindings}/par?dryRun=All", {"spec": {"policyName": "par-1"}}, MERGE)


def test_references_to_parameters(servers: RBACPair) -> None:
    """Allow and refuse the same writes, with the same texts."""
    for step in _prepared():
        for side in (servers.pair.reference, servers.pair.ours):
            must(side, step)
    for number in range(len(KINDS)):
        copy_status(servers.pair, f"{ADMISSION}/validatingadmissionpolicies/par-{number}")
    servers.settle()

    servers.check([as_user(step, user, "par-group") for user in USERS for phase in SPECS for step in _writes(phase)])
