"""Builds webhook configurations and policies of admissionregistration.k8s.io/v1."""

from collections.abc import Sequence
from typing import Any, Final

Json = dict[str, Any]
API: Final = "admissionregistration.k8s.io/v1"
PLURALS: Final = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}


def rule(*resources: str, group: str = "*", versions: Sequence[str] = ("*",), operations: Sequence[str] = ("*",), **more: Any) -> Json:
    """Return a rule for resources of a group, by default for all."""
    return {
        "apiGroups": [group],
        "apiVersions": list(versions),
        "operations": list(operations),
        "resources": list(resources) or ["*"],
    } | more


def hook(name: str, *rules: Json, **more: Any) -> Json:
    """Return a webhook without side effects for v1 reviews, by default for everything. `more` replaces members; None removes one."""
    members = {
        "name": name,
        "rules": list(rules) or [rule()],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {key: value for key, value in (members | more).items() if value is not None}


def mutating(name: str, *hooks: Json) -> Json:
    """Return a MutatingWebhookConfiguration."""
    return _object("MutatingWebhookConfiguration", name, webhooks=list(hooks))


def validating(name: str, *hooks: Json) -> Json:
    """Return a ValidatingWebhookConfiguration."""
    return _object("ValidatingWebhookConfiguration", name, webhooks=list(hooks))


def validating_policy(name: str, *validations: str | Json, rules: Sequence[Json] = (), **spec: Any) -> Json:
    """Return a ValidatingAdmissionPolicy with validations, each an expression or an object. `spec` adds members."""
    listed = [{"expression": one} if isinstance(one, str) else one for one in validations]
    constraints = {"matchConstraints": {"resourceRules": list(rules) or [rule()]}}
    return _object("ValidatingAdmissionPolicy", name, spec=constraints | {"validations": listed} | spec)


def validating_binding(name: str, policy: str, *actions: str, **spec: Any) -> Json:
    """Return a ValidatingAdmissionPolicyBinding, which denies by default."""
    members = {"policyName": policy, "validationActions": list(actions) or ["Deny"]}
    return _object("ValidatingAdmissionPolicyBinding", name, spec=members | spec)


def mutating_policy(name: str, *mutations: Json, rules: Sequence[Json] = (), **spec: Any) -> Json:
    """Return a MutatingAdmissionPolicy that is not run again. `spec` adds members."""
    constraints = {"matchConstraints": {"resourceRules": list(rules) or [rule(operations=["CREATE", "UPDATE"])]}}
    return _object("MutatingAdmissionPolicy", name, spec=constraints | {"reinvocationPolicy": "Never", "mutations": list(mutations)} | spec)


def mutating_binding(name: str, policy: str, **spec: Any) -> Json:
    """Return a MutatingAdmissionPolicyBinding."""
    return _object("MutatingAdmissionPolicyBinding", name, spec={"policyName": policy} | spec)


def applying(expression: str) -> Json:
    """Return a mutation by an apply configuration."""
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def json_patching(expression: str) -> Json:
    """Return a mutation by a JSON patch."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def collection(kind: str) -> str:
    """Return the path of the objects of a kind."""
    return f"/apis/{API}/{PLURALS[kind]}"


def _object(kind: str, name: str, **members: Any) -> Json:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}} | members
