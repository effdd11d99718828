"""cert-manager's webhooks: they record the requesting user in CertificateRequests, and validate these and Certificates."""

from collections.abc import Sequence
from typing import Final

from tests.e2e.projects.project import ClientConfig, Json, Project, hook, object_of
from tests.support.admission_webhook import ALLOW, AdmissionCall, denying, patching
from tests.support.builders.admission import mutating, rule, validating
from tests.support.scripted_webhook import Reply

_GROUP: Final = "cert-manager.io"
_NAME: Final = "cert-manager-webhook"
_IDENTITY: Final = ("username", "groups", "extra", "uid")
_NAMES: Final = ("commonName", "dnsNames", "uris", "ipAddresses", "emailAddresses", "otherNames")


def _configurations(config: ClientConfig) -> Sequence[Json]:
    enabled = {"matchExpressions": [{"key": "cert-manager.io/disable-validation", "operator": "NotIn", "values": ["true"]}]}
    mutates = rule("certificaterequests", group=_GROUP, versions=["v1"], operations=["CREATE"])
    validates = rule("*/*", group=_GROUP, versions=["v1"], operations=["CREATE", "UPDATE"])
    return (
        mutating(_NAME, hook("webhook.cert-manager.io", config("/mutate"), mutates, timeoutSeconds=30)),
        validating(_NAME, hook("webhook.cert-manager.io", config("/validate"), validates, timeoutSeconds=30, namespaceSelector=enabled)),
    )


def _mutate(call: AdmissionCall) -> Reply | Json:
    """Record the requester in the CertificateRequest."""
    user = call.request["userInfo"]
    given = [{"op": "add", "path": f"/spec/{name}", "value": user[name]} for name in _IDENTITY if user.get(name)]
    return patching(*given)(call)


def _validate(call: AdmissionCall) -> Reply | Json:
    kind, request = call.request["kind"]["kind"], call.request
    if kind == "CertificateRequest" and request["operation"] == "UPDATE" and request["oldObject"]["spec"] != object_of(call)["spec"]:
        return _refuse(call, "spec: Forbidden: cannot change spec after creation")
    if kind == "CertificateRequest" and object_of(call)["spec"].get("username") != request["userInfo"]["username"]:
        return _refuse(call, "spec.username: Forbidden: username identity must be that of the requester")
    if kind == "Certificate" and not any(object_of(call)["spec"].get(name) for name in _NAMES):
        return _refuse(call, "spec: Invalid value: at least one of commonName, dnsNames, uriSANs, ipAddresses or emailSANs must be set")
    return ALLOW(call)


def _refuse(call: AdmissionCall, message: str) -> Reply | Json:
    return denying(message, status="Failure", code=406, reason="NotAcceptable")(call)


CERT_MANAGER: Final = Project(
    service=f"cert-manager/{_NAME}",
    group=_GROUP,
    folder="cert-manager",
    plurals=("certificaterequests", "certificates"),
    configurations=_configurations,
    answers={"/mutate": _mutate, "/validate": _validate},
)
