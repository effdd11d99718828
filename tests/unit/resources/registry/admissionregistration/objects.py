"""Objects of admissionregistration.k8s.io/v1 in the form in which strategies get them."""

from typing import Any, Final

from apiext.resources.registry.admissionregistration import kinds
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.request_context import RequestContext

CONTEXT: Final = RequestContext()
RULE: Final = {"apiGroups": ["a.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
HOOK: Final[dict[str, Any]] = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://a.example.com"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
VALIDATING: Final[dict[str, Any]] = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
MUTATING: Final[dict[str, Any]] = {
    "matchConstraints": {"resourceRules": [RULE]},
    "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
    "reinvocationPolicy": "Never",
}


def decoded(kind: BuiltinKind, **members: Any) -> dict[str, Any]:
    """Return an object of a kind with its defaults."""
    obj = {"metadata": {"name": "x", "generation": 1}, **members}
    kind.codec().decode_body(obj, False)
    return obj


def configuration(*hooks: dict[str, Any]) -> dict[str, Any]:
    """Return a ValidatingWebhookConfiguration."""
    return decoded(kinds.VALIDATING_WEBHOOKS_KIND, webhooks=list(hooks))


def policy(**spec: Any) -> dict[str, Any]:
    """Return a ValidatingAdmissionPolicy."""
    return decoded(kinds.VALIDATING_POLICY_KIND, spec=VALIDATING | spec)


def new_errors(kind: BuiltinKind, obj: dict[str, Any]) -> list[str]:
    """Return the fields of a new object with errors."""
    return [error.field for error in kind.strategy.validate(CONTEXT, obj)]


def update_errors(kind: BuiltinKind, obj: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """Return the fields of a changed object with errors."""
    return [error.field for error in kind.strategy.validate_update(CONTEXT, obj, old, [])]
