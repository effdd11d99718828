"""The kinds of admissionregistration.k8s.io/v1.

Defaults: kubernetes pkg/apis/admissionregistration/v1/defaults.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import builtin_resources as resources
from apiext.resources.registry.admissionregistration import strategies, types
from apiext.resources.registry.admissionregistration.types import (
    CLIENT_CONFIG,
    MATCH_RESOURCES,
    MUTATING_POLICY_SPEC,
    MUTATING_WEBHOOK,
    SERVICE_REFERENCE,
    VALIDATING_POLICY_SPEC,
    VALIDATING_WEBHOOK,
)
from apiext.resources.registry.builtin.kind import BuiltinKind

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.struct_type import Struct


_HTTPS: Final = 443
_WEBHOOK_TIMEOUT_SECONDS: Final = 10


def default_validating_webhooks(configuration: Object) -> None:
    """Set the defaults of validating webhooks."""
    _default_webhooks(configuration, VALIDATING_WEBHOOK)


def default_mutating_webhooks(configuration: Object) -> None:
    """Set the defaults of mutating webhooks."""
    _default_webhooks(configuration, MUTATING_WEBHOOK, reinvocationPolicy="Never")


def default_validating_policy(policy: Object) -> None:
    """Set the defaults of a ValidatingAdmissionPolicy."""
    _default_policy(policy, VALIDATING_POLICY_SPEC)


def default_mutating_policy(policy: Object) -> None:
    """Set the defaults of a MutatingAdmissionPolicy."""
    _default_policy(policy, MUTATING_POLICY_SPEC)


def default_binding(binding: Object) -> None:
    """Set the defaults of a binding."""
    spec = binding["spec"]
    if "matchResources" in spec:
        spec["matchResources"] = _matched(spec["matchResources"])


def _default_webhooks(configuration: Object, struct: Struct, **more: str) -> None:
    if "webhooks" in configuration:
        configuration["webhooks"] = [_webhook(webhook, struct, more) for webhook in configuration["webhooks"]]


def _webhook(webhook: Object, struct: Struct, more: dict[str, str]) -> Object:
    defaults: dict[str, Any] = {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": _WEBHOOK_TIMEOUT_SECONDS,
    }
    made = {**defaults, **more, **webhook}
    _default_rules(made.get("rules"))
    service = made["clientConfig"].get("service")
    if service is not None:
        made["clientConfig"] = CLIENT_CONFIG.order(made["clientConfig"] | {"service": SERVICE_REFERENCE.order({"port": _HTTPS, **service})})
    return struct.order(made)


def _default_policy(policy: Object, struct: Struct) -> None:
    spec = {"failurePolicy": "Fail", **policy["spec"]}
    if "matchConstraints" in spec:
        spec["matchConstraints"] = _matched(spec["matchConstraints"])
    policy["spec"] = struct.order(spec)


def _matched(matched: Object) -> Object:
    made = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent", **matched}
    _default_rules(made.get("resourceRules"))
    _default_rules(made.get("excludeResourceRules"))
    return MATCH_RESOURCES.order(made)


def _default_rules(rules: list[Object] | None) -> None:
    for rule in rules or ():
        rule.setdefault("scope", "*")


VALIDATING_WEBHOOKS_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_WEBHOOK_CONFIGURATIONS,
    struct=types.VALIDATING_WEBHOOK_CONFIGURATION,
    strategy=strategies.WebhookConfigurationStrategy(),
    default=default_validating_webhooks,
)
MUTATING_WEBHOOKS_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_WEBHOOK_CONFIGURATIONS,
    struct=types.MUTATING_WEBHOOK_CONFIGURATION,
    strategy=strategies.WebhookConfigurationStrategy(),
    default=default_mutating_webhooks,
)
VALIDATING_POLICY_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_ADMISSION_POLICIES,
    struct=types.VALIDATING_ADMISSION_POLICY,
    strategy=strategies.ValidatingPolicyStrategy(),
    default=default_validating_policy,
)
VALIDATING_BINDING_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_ADMISSION_POLICY_BINDINGS,
    struct=types.VALIDATING_ADMISSION_POLICY_BINDING,
    strategy=strategies.ValidatingBindingStrategy(),
    default=default_binding,
)
MUTATING_POLICY_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_ADMISSION_POLICIES,
    struct=types.MUTATING_ADMISSION_POLICY,
    strategy=strategies.MutatingPolicyStrategy(),
    default=default_mutating_policy,
)
MUTATING_BINDING_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_ADMISSION_POLICY_BINDINGS,
    struct=types.MUTATING_ADMISSION_POLICY_BINDING,
    strategy=strategies.MutatingBindingStrategy(),
    default=default_binding,
)
