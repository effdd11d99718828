"""Kyverno with policies for everything: it sees all writes in the cluster, labels new objects, and refuses those that say so."""

from collections.abc import Sequence
from typing import Final

from tests.e2e.projects.project import ClientConfig, Json, Project, hook, object_of
from tests.support.admission_webhook import ALLOW, AdmissionCall, denying, patching
from tests.support.builders.admission import mutating, rule, validating
from tests.support.scripted_webhook import Reply

_LABELLED: Final = frozenset({"CertificateRequest", "ClusterQueue"})
"""Kinds that a policy labels."""
LABEL: Final = "kyverno.example.com/seen"
FORBIDDEN: Final = "kyverno.example.com/forbidden"
"""Label of objects that a policy refuses."""


def _configurations(config: ClientConfig) -> Sequence[Json]:
    elsewhere = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}
    settings: Json = {"namespaceSelector": elsewhere, "timeoutSeconds": 10, "sideEffects": "NoneOnDryRun"}
    mutates = rule("*/*", operations=["CREATE", "UPDATE"])
    validates = rule("*/*", operations=["CREATE", "UPDATE", "DELETE", "CONNECT"])
    mutate, validate = config("/mutate/fail"), config("/validate/fail")
    return (
        mutating(
            "kyverno-resource-mutating-webhook-cfg",
            hook("mutate.kyverno.svc-fail", mutate, mutates, reinvocationPolicy="IfNeeded", **settings),
        ),
        validating("kyverno-resource-validating-webhook-cfg", hook("validate.kyverno.svc-fail", validate, validates, **settings)),
    )


def _labels(call: AdmissionCall) -> Json:
    metadata: Json = object_of(call).get("metadata") or {}
    return dict(metadata.get("labels") or {})


def _mutate(call: AdmissionCall) -> Reply | Json:
    if call.request["kind"]["kind"] not in _LABELLED or call.request.get("subResource"):
        return ALLOW(call)
    labels = _labels(call)
    if LABEL in labels:
        return ALLOW(call)
    return patching({"op": "add", "path": "/metadata/labels", "value": {**labels, LABEL: "true"}})(call)


def _validate(call: AdmissionCall) -> Reply | Json:
    if call.request["operation"] in {"CREATE", "UPDATE"} and FORBIDDEN in _labels(call):
        message = "resource was blocked due to the following policies: forbidden-label"
        return denying(message, status="Failure", code=400)(call)
    return ALLOW(call)


KYVERNO: Final = Project(
    service="kyverno/kyverno-svc",
    group="",
    folder="",
    configurations=_configurations,
    answers={"/mutate/fail": _mutate, "/validate/fail": _validate},
)
