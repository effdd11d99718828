"""What the users of apiext and of its operator may do in a cluster, as the documents say."""

from typing import Any, Final


def _rule(group: str, resources: str, verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


SERVER_RULES: Final = [
    _rule("apiextensions.k8s.io", "customresourcedefinitions", "get list watch"),
    _rule("", "namespaces", "get list watch"),
    _rule("", "resourcequotas", "get list watch"),
    _rule("", "resourcequotas/status", "update"),
]
OPERATOR_RULES: Final = [
    _rule("apiextensions.k8s.io", "customresourcedefinitions", "get list watch update patch delete"),
    _rule("apiextensions.k8s.io", "customresourcedefinitions/status", "get update patch"),
    _rule("apiregistration.k8s.io", "apiservices", "get list watch create update patch delete"),
    _rule("admissionregistration.k8s.io", "validatingadmissionpolicies", "get list watch create update patch delete"),
    _rule("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "get list watch create update patch delete"),
    _rule("coordination.k8s.io", "leases", "get list watch create update patch"),
    _rule("", "events", "create patch"),
    _rule("", "namespaces", "get"),
    _rule("", "services secrets", "get list watch"),
    _rule("discovery.k8s.io", "endpointslices", "get list watch"),
    _rule("*", "*", "get list watch create"),
    {"nonResourceURLs": ["/apiext/import/*"], "verbs": ["post"]},
]
