"""The strategies of kinds from generated data, which validate metadata only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import names, quantity, time
from apiext.base.meta.encoding import json_values
from apiext.base.meta.objectmeta import validation
from apiext.resources.registry.generated.defaults import TEMPLATE_GENERATION
from apiext.resources.registry.metadata import keep_for_status
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.base.meta.golang.struct_type import Struct
    from apiext.resources.registry.request_context import RequestContext

_NOT_CONTENT: Final = frozenset({"kind", "apiVersion", "metadata", "status"})
_WITHOUT_GENERATION: Final = frozenset(
    {
        *("endpoints", "limitranges", "nodes", "persistentvolumeclaims", "persistentvolumes", "resourcequotas", "services"),
        *("apiservices", "controllerrevisions", "ipaddresses", "runtimeclasses", "servicecidrs"),
        *("certificatesigningrequests", "clustertrustbundles", "podcertificaterequests"),
        *("csinodes", "csistoragecapacities", "storageclasses", "volumeattachments", "volumeattributesclasses"),
        *("resourceclaims", "resourceclaimtemplates"),
    }
)
_COUNTED_FROM_ZERO: Final = frozenset({"csidrivers"})
_NEVER_COUNTED: Final = frozenset({"priorityclasses"})
_COUNTED_METADATA: Final = {"deployments": "annotations", "endpointslices": "labels"}
"""Metadata that counts as content, by resource."""
_CONDITIONAL: Final = frozenset(
    {
        *("apiservices", "poddisruptionbudgets", "runtimeclasses", "clustertrustbundles", "podcertificaterequests"),
        *("csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"),
    }
)
"""Resources whose updates must name a resourceVersion."""
_CREATED_WITH_STATUS: Final = frozenset({"nodes"})
_PATH_NAMES: Final = frozenset({"apiservices", "clustertrustbundles", "ipaddresses"})
STATUS_METADATA: Final = frozenset(
    {
        *("csinodes", "volumeattachments", "devicetaintrules", "resourceclaims"),
        *("apiservices", "podcertificaterequests", "servicecidrs"),
    }
)
"""Resources whose status updates keep the metadata."""
STATUS_MEMBERS: Final = {"deployments": ("labels",), "pods": ("deletionTimestamp", "ownerReferences")}
"""Members of the metadata that status updates of other resources keep."""


_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", _CONTROLLER_UID)


class Preparation:
    """What a kind's strategy sets, beyond the rules of all kinds. As in Strategy, deeper members change only by replacement."""

    def create(self, obj: Object) -> None:
        """Prepare a new object."""

    def update(self, obj: Object, old: Object) -> None:
        """Prepare a changed object."""

    def update_status(self, obj: Object, old: Object) -> None:
        """Prepare an object with a changed status."""


class _Pod(Preparation):
    def create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": _pod_class(obj["spec"])}


def _pod_class(spec: Object) -> str:
    """Return the quality of service class."""
    if "resources" in spec:
        return _class_of(spec["resources"])
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    classes = {_class_of(container.get("resources") or {}) for container in containers}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _class_of(resources: Object) -> str:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    if not requests and not limits:
        return "BestEffort"
    found = {_class(_amount(requests, name), _amount(limits, name)) for name in ("cpu", "memory")}
    return found.pop() if len(found) == 1 else "Burstable"


def _amount(amounts: Mapping[str, str], name: str) -> quantity.Quantity:
    return quantity.parse(amounts.get(name, "0"))


def _class(request: quantity.Quantity, limit: quantity.Quantity) -> str:
    if request.amount != limit.amount:
        return "Burstable"
    return "Guaranteed" if request.amount else "BestEffort"


class _Job(Preparation):
    def create(self, obj: Object) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template = dict(spec["template"])
        labels = dict.fromkeys(_NAME_LABELS, metadata["name"]) | dict.fromkeys(_UID_LABELS, metadata["uid"])
        template["metadata"] = {**template["metadata"], "labels": labels | template["metadata"].get("labels", {})}
        selector = spec.get("selector") or {}
        matched = {_CONTROLLER_UID: metadata["uid"], **selector.get("matchLabels", {})}
        obj["spec"] = {**spec, "template": template, "selector": {**selector, "matchLabels": matched}}


class _DaemonSet(Preparation):
    def create(self, obj: Object) -> None:
        _annotate(obj["metadata"], "1")

    def update(self, obj: Object, old: Object) -> None:
        before = old["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
        changed = not json_values.equal(obj["spec"]["template"], old["spec"]["template"])
        _annotate(obj["metadata"], str(int(before) + 1) if changed and before.isdecimal() else before)


def _annotate(metadata: Object, generation: str) -> None:
    metadata["annotations"] = {**metadata.get("annotations", {}), TEMPLATE_GENERATION: generation}


class _Service(Preparation):
    """Addresses are not allocated."""

    def create(self, obj: Object) -> None:
        obj["spec"] = _with_families(obj["spec"])

    def update(self, obj: Object, old: Object) -> None:
        spec, before = obj["spec"], old["spec"]
        if spec.get("type") != "ExternalName":
            kept = {name: before[name] for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy") if name in before}
            spec = {**kept, **spec} if before.get("type") != "ExternalName" else spec
        obj["spec"] = _with_families(spec)


def _with_families(spec: Object) -> Object:
    if spec.get("type") == "ExternalName":
        return spec
    given = {"clusterIPs": [spec["clusterIP"]]} if spec.get("clusterIP") else {}
    return {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", **given, **spec}


class _Volume(Preparation):
    def create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": time.now()}

    def update_status(self, obj: Object, old: Object) -> None:
        status, before = obj["status"], old["status"]
        moment, since = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
        if status.get("phase") == before.get("phase"):
            moment = moment or since
        elif moment is None or moment == since:
            moment = time.now()
        if moment is not None:
            obj["status"] = {**status, "lastPhaseTransitionTime": moment}


class _APIService(Preparation):
    def create(self, obj: Object) -> None:
        if "service" not in obj["spec"]:
            condition = {"type": "Available", "status": "True", "lastTransitionTime": time.now()}
            obj["status"] = {"conditions": [condition | {"reason": "Local", "message": "Local APIServices are always available"}]}


class _SigningRequest(Preparation):
    def update(self, obj: Object, old: Object) -> None:
        obj["spec"] = old["spec"]


PREPARATIONS: Final[Mapping[str, Preparation]] = {
    "apiservices": _APIService(),
    "certificatesigningrequests": _SigningRequest(),
    "daemonsets": _DaemonSet(),
    "jobs": _Job(),
    "persistentvolumes": _Volume(),
    "pods": _Pod(),
    "services": _Service(),
}
"""Preparations by plural."""


class GeneratedStrategy(Strategy):
    """Keeps the status to its subresource, counts generations, and validates metadata."""

    distinct_errors = True

    def __init__(self, resource: BuiltinResource, struct: Struct | None = None) -> None:
        """Keep the rules of a resource. With the `struct` of its kind, a new status has all fields that Go writes when they are empty."""
        self._resource = resource
        self._plural = resource.plural
        self._has_status = resource.subresource("status") is not None
        self._status = struct.by_name["status"].type if struct is not None and self._has_status else None
        self._preparation = PREPARATIONS.get(resource.plural)

    @property
    def allow_unconditional_update(self) -> bool:  # type: ignore[override]
        """Return whether an update may omit metadata.resourceVersion."""
        return self._plural not in _CONDITIONAL

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Drop the status, begin the generation, and set what the kind's strategy sets."""
        if self._has_status and self._plural not in _CREATED_WITH_STATUS:
            obj["status"] = {}
        if self._plural not in _WITHOUT_GENERATION | _COUNTED_FROM_ZERO:
            obj["metadata"]["generation"] = 1
        if self._preparation is not None:
            self._preparation.create(obj)
        if self._status is not None:
            obj["status"] = self._status.canonical(obj.get("status"))

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status, and count the generation of a changed content."""
        if self._has_status:
            obj["status"] = old.get("status", {})
        if self._preparation is not None:
            self._preparation.update(obj, old)
        self._count(obj, old)

    def _count(self, obj: Object, old: Object) -> None:
        if self._plural in _WITHOUT_GENERATION | _NEVER_COUNTED:
            return
        counted = _COUNTED_METADATA.get(self._plural, "")
        same = obj["metadata"].get(counted, {}) == old["metadata"].get(counted, {})
        if not same or not json_values.equal(_content(obj), _content(old)):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate the metadata."""
        rule = names.path_segment if self._plural in _PATH_NAMES else names.name_is_dns_subdomain
        return validation.validate(obj["metadata"], namespaced=self._resource.namespaced, name_rule=rule)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Return no further errors."""
        return []


def _content(obj: Object) -> Object:
    return {name: member for name, member in obj.items() if name not in _NOT_CONTENT}


class GeneratedStatusStrategy(GeneratedStrategy):
    """Strategy of the status subresource: keeps the content."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old content, and the old metadata of some kinds."""
        for name in _content(obj).keys() | _content(old).keys():
            _keep(obj, old, name)
        if self._plural in STATUS_METADATA:
            keep_for_status(obj["metadata"], old["metadata"])
        for name in STATUS_MEMBERS.get(self._plural, ()):
            _keep(obj["metadata"], old["metadata"], name)
        if self._preparation is not None:
            self._preparation.update_status(obj, old)


class ApprovalStrategy(GeneratedStrategy):
    """Strategy of the approval of a CertificateSigningRequest: changes the conditions."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep everything else in spec and status."""
        found = obj.get("status", {}).get("conditions")
        obj["spec"] = old["spec"]
        obj["status"] = {name: member for name, member in old["status"].items() if name != "conditions"}
        if found:
            obj["status"]["conditions"] = found


class EphemeralContainersStrategy(GeneratedStrategy):
    """Strategy of the ephemeral containers of a pod."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep everything else."""
        obj["status"] = old["status"]
        containers = obj["spec"].get("ephemeralContainers")
        obj["spec"] = {name: member for name, member in old["spec"].items() if name != "ephemeralContainers"}
        if containers:
            obj["spec"]["ephemeralContainers"] = containers
        self._count(obj, old)


class ResizeStrategy(GeneratedStrategy):
    """Strategy of the resources of a pod's containers."""

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep everything else."""
        obj["status"] = old["status"]
        spec = dict(old["spec"])
        for family in ("containers", "initContainers"):
            wanted = {each["name"]: each for each in obj["spec"].get(family) or ()}
            if spec.get(family):
                spec[family] = [_resized(each, wanted.get(each["name"], each)) for each in spec[family]]
        obj["spec"] = spec
        self._count(obj, old)


def _resized(container: Object, wanted: Object) -> Object:
    changed = dict(container)
    for name in ("resources", "resizePolicy"):
        _keep(changed, wanted, name)
    return changed


def _keep(obj: Object, old: Object, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)
