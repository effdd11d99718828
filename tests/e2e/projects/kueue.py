"""Kueue: protects ClusterQueues and ResourceFlavors by a finalizer, and checks them. Its webhooks know the newest version only."""

from collections.abc import Sequence
from typing import Final

from tests.e2e.projects.project import ClientConfig, Json, Project, hook, object_of
from tests.support.admission_webhook import ALLOW, AdmissionCall, denying, patching
from tests.support.builders.admission import mutating, rule, validating
from tests.support.scripted_webhook import Reply

_GROUP: Final = "kueue.x-k8s.io"
_KINDS: Final = {"clusterqueues": "clusterqueue", "resourceflavors": "resourceflavor"}
FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"


def _configurations(config: ClientConfig) -> Sequence[Json]:
    def hooks(letter: str, verb: str, *operations: str) -> list[Json]:
        return [
            hook(
                f"{letter}{kind}.kb.io",
                config(f"/{verb}-kueue-x-k8s-io-v1beta2-{kind}"),
                rule(plural, group=_GROUP, versions=["v1beta2"], operations=operations),
                timeoutSeconds=10,
            )
            for plural, kind in _KINDS.items()
        ]

    return (
        mutating("kueue-mutating-webhook-configuration", *hooks("m", "mutate", "CREATE")),
        validating("kueue-validating-webhook-configuration", *hooks("v", "validate", "CREATE", "UPDATE")),
    )


def _mutate(call: AdmissionCall) -> Reply | Json:
    """Add the finalizer."""
    _check_version(call)
    finalizers = object_of(call)["metadata"].get("finalizers") or []
    if FINALIZER in finalizers:
        return ALLOW(call)
    return patching({"op": "add", "path": "/metadata/finalizers", "value": [*finalizers, FINALIZER]})(call)


def _validate(call: AdmissionCall) -> Reply | Json:
    _check_version(call)
    queue = object_of(call)
    if queue["spec"].get("cohortName") == queue["metadata"]["name"]:
        return denying("spec.cohortName: Invalid value: a queue is no cohort", status="Failure", code=403, reason="Forbidden")(call)
    return ALLOW(call)


def _check_version(call: AdmissionCall) -> None:
    """Fail for an object of another version, which the server's decoder would not know."""
    assert object_of(call)["apiVersion"] == f"{_GROUP}/v1beta2"
    assert call.request["kind"]["version"] == call.request["resource"]["version"] == "v1beta2"


def convert(obj: Json, version: str) -> None:
    """Convert a ClusterQueue between v1beta1 and v1beta2."""
    before, after = ("cohort", "cohortName") if version.endswith("/v1beta2") else ("cohortName", "cohort")
    if before in obj.get("spec", {}):
        obj["spec"][after] = obj["spec"].pop(before)


KUEUE: Final = Project(
    service="kueue-system/kueue-webhook-service",
    group=_GROUP,
    folder="kueue",
    plurals=tuple(_KINDS),
    configurations=_configurations,
    answers={
        f"/{verb}-kueue-x-k8s-io-v1beta2-{kind}": answer
        for kind in _KINDS.values()
        for verb, answer in (("mutate", _mutate), ("validate", _validate))
    },
)
