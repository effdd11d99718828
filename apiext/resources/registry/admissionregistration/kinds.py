"""The kinds of admissionregistration.k8s.io/v1.

Defaults: kubernetes pkg/apis/admissionregistration/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta import builtin_resources as resources
from apiext.resources.registry.admissionregistration import strategies
from apiext.resources.registry.builtin.defaulting import StructDefaults

_MATCHED: Final[dict[str, Any]] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Final = _MATCHED | {"failurePolicy": "Fail", "timeoutSeconds": 10}
_DEFAULTS: Final = StructDefaults(
    {
        f"admissionregistration/v1.{name}": values
        for name, values in (
            ("ValidatingWebhook", _WEBHOOK),
            ("MutatingWebhook", _WEBHOOK | {"reinvocationPolicy": "Never"}),
            ("ValidatingAdmissionPolicySpec", {"failurePolicy": "Fail"}),
            ("MutatingAdmissionPolicySpec", {"failurePolicy": "Fail"}),
            ("MatchResources", _MATCHED),
            ("Rule", {"scope": "*"}),
            ("ServiceReference", {"port": 443}),
        )
    }
)


VALIDATING_WEBHOOKS_KIND: Final = _DEFAULTS.kind(resources.VALIDATING_WEBHOOK_CONFIGURATIONS, strategies.WebhookConfigurationStrategy())
MUTATING_WEBHOOKS_KIND: Final = _DEFAULTS.kind(resources.MUTATING_WEBHOOK_CONFIGURATIONS, strategies.WebhookConfigurationStrategy())
VALIDATING_POLICY_KIND: Final = _DEFAULTS.kind(resources.VALIDATING_ADMISSION_POLICIES, strategies.ValidatingPolicyStrategy())
VALIDATING_BINDING_KIND: Final = _DEFAULTS.kind(resources.VALIDATING_ADMISSION_POLICY_BINDINGS, strategies.ValidatingBindingStrategy())
MUTATING_POLICY_KIND: Final = _DEFAULTS.kind(resources.MUTATING_ADMISSION_POLICIES, strategies.MutatingPolicyStrategy())
MUTATING_BINDING_KIND: Final = _DEFAULTS.kind(resources.MUTATING_ADMISSION_POLICY_BINDINGS, strategies.MutatingBindingStrategy())
