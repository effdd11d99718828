"""Defaults of webhooks, admission policies and APIServices.

Mirrors kubernetes pkg/apis/admissionregistration/v1/defaults.go and kube-aggregator pkg/apis/apiregistration/v1/defaults.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object

_HTTPS: Final = 443
_WEBHOOK_TIMEOUT_SECONDS: Final = 10


def _webhook(webhook: Object) -> None:
    _failure_policy(webhook)
    _match(webhook)
    webhook.setdefault("timeoutSeconds", _WEBHOOK_TIMEOUT_SECONDS)


def _mutating_webhook(webhook: Object) -> None:
    _webhook(webhook)
    webhook.setdefault("reinvocationPolicy", "Never")


def _match(matched: Object) -> None:
    matched.setdefault("matchPolicy", "Equivalent")
    matched.setdefault("namespaceSelector", {})
    matched.setdefault("objectSelector", {})


def _failure_policy(owner: Object) -> None:
    owner.setdefault("failurePolicy", "Fail")


def _rule(rule: Object) -> None:
    rule.setdefault("scope", "*")


def _service(service: Object) -> None:
    service.setdefault("port", _HTTPS)


DEFAULTS: Final = {
    "admissionregistration/v1.ValidatingWebhook": _webhook,
    "admissionregistration/v1.MutatingWebhook": _mutating_webhook,
    "admissionregistration/v1.Rule": _rule,
    "admissionregistration/v1.ServiceReference": _service,
    "admissionregistration/v1.MatchResources": _match,
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": _failure_policy,
    "admissionregistration/v1.MutatingAdmissionPolicySpec": _failure_policy,
    "kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference": _service,
}
"""Defaults by struct."""
