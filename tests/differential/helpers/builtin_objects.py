"""Objects of built-in kinds with their paths, and what apiext leaves out of the reference's answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.generated.resources import further_resources
from hack.lib.differential.pair import Pair, Step

_CASES: Final = Path(__file__).resolve().parents[1] / "cases" / "builtin_objects.yaml"
_RESOURCES: Final = {(one.kind.api_version, one.kind.kind): one for group in further_resources(()) for one in group.resources}
LEFT_OUT: Final = {
    "Warning": "no warnings about the content of objects",
    ".description = ": "own descriptions of columns",
    "ServiceNotFound": "no availability of APIServices",
    "'manager': 'kube-apiserver'": "no availability of APIServices",
    "/apiservices/v1.nothing.example.com [": "no availability of APIServices",
    "deletionGracePeriodSeconds": "no graceful deletion of pods, no default orphaning",
    "field is immutable": "no validation of the content",
    "f:data.f:spec": "the fields of a ControllerRevision's data have owners of their own",
    "f:spec': {'f:devices'": "quantities of ResourceSlices are compared as numbers",
    "object.metadata.annotations = '<absent>'": "metadata in tables of DaemonSets has the annotation with the template's generation",
    ".rows[0].conditions": "no conditions in rows",
}
"""Parts of differences that are left out, with the reason."""
GRACEFUL: Final = frozenset({"jobs", "pods", "replicationcontrollers"})
"""Resources whose objects the reference does not delete at once."""


@dataclass(frozen=True, slots=True)
class BuiltinObject:
    """An object and its resource."""

    obj: dict[str, Any]
    resource: BuiltinResource

    @property
    def name(self) -> str:
        """Return the name."""
        return str(self.obj["metadata"]["name"])

    @property
    def collection(self) -> str:
        """Return the path of the resource."""
        version = self.resource.kind.api_version
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{base}{'/namespaces/default' if self.resource.namespaced else ''}/{self.resource.plural}"

    @property
    def path(self) -> str:
        """Return the path of the object."""
        return f"{self.collection}/{self.name}"


def builtin_objects() -> list[BuiltinObject]:
    """Return all objects of the cases."""
    found = list(yaml.safe_load_all(_CASES.read_text()))
    return [BuiltinObject(obj, _RESOURCES[obj["apiVersion"], obj["kind"]]) for obj in found]


def builtin_differences(pair: Pair, step: Step) -> list[str]:
    """Return the differences of a step without those that are left out."""
    return [text for text in pair.differences(step) if not any(part in text for part in LEFT_OUT)]


def remove(pair: Pair, one: BuiltinObject) -> None:
    """Delete an object on both servers, whatever its finalizers."""
    for side in (pair.reference, pair.ours):
        side.raw(Step("DELETE", f"{one.path}?gracePeriodSeconds=0&propagationPolicy=Background"))
