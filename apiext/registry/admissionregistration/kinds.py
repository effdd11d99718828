"""The kinds of admissionregistration.k8s.io/v1."""

from __future__ import annotations

from typing import Final

from apiext.meta import builtin_resources as resources
from apiext.registry.admissionregistration import defaults, strategies, types
from apiext.registry.builtin.kind import BuiltinKind

VALIDATING_WEBHOOKS_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_WEBHOOK_CONFIGURATIONS,
    struct=types.VALIDATING_WEBHOOK_CONFIGURATION,
    strategy=strategies.WebhookConfigurationStrategy(),
    default=defaults.default_validating_webhooks,
)
MUTATING_WEBHOOKS_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_WEBHOOK_CONFIGURATIONS,
    struct=types.MUTATING_WEBHOOK_CONFIGURATION,
    strategy=strategies.WebhookConfigurationStrategy(),
    default=defaults.default_mutating_webhooks,
)
VALIDATING_POLICY_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_ADMISSION_POLICIES,
    struct=types.VALIDATING_ADMISSION_POLICY,
    strategy=strategies.ValidatingPolicyStrategy(),
    default=defaults.default_validating_policy,
)
VALIDATING_BINDING_KIND: Final = BuiltinKind(
    resource=resources.VALIDATING_ADMISSION_POLICY_BINDINGS,
    struct=types.VALIDATING_ADMISSION_POLICY_BINDING,
    strategy=strategies.ValidatingBindingStrategy(),
    default=defaults.default_binding,
)
MUTATING_POLICY_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_ADMISSION_POLICIES,
    struct=types.MUTATING_ADMISSION_POLICY,
    strategy=strategies.MutatingPolicyStrategy(),
    default=defaults.default_mutating_policy,
)
MUTATING_BINDING_KIND: Final = BuiltinKind(
    resource=resources.MUTATING_ADMISSION_POLICY_BINDINGS,
    struct=types.MUTATING_ADMISSION_POLICY_BINDING,
    strategy=strategies.MutatingBindingStrategy(),
    default=defaults.default_binding,
)
