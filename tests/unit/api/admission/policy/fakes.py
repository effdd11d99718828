"""Sources of policies with fixed contents, and an endpoint with two versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.metrics import AdmissionStats
from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.api.admission.sources import AdmissionPhase, AdmissionSources, NotReadyError, ParamQuery, PolicyEntry, RequestPlace
from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, Verdict
from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation, RequestInfo, UserInfo

GROUP = "example.com"
_RULE = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["*"], "scope": "*"}


class Sources:
    """Implements all sources; the members are their contents."""

    def __init__(self) -> None:
        self.entries: list[PolicyEntry] = []
        self.parameters: list[Object] = []
        self.known: Mapping[str, bool] = {"ConfigMap": True, "Limit": False}
        self.spaces: dict[str, Object] = {"here": {"metadata": {"name": "here", "labels": {"env": "test"}}}}
        self.ready = True
        self.queries: list[ParamQuery] = []
        self.checks: list[RequestInfo] = []
        self.stats = AdmissionStats()

    async def policies(self, _phase: AdmissionPhase, _place: RequestPlace) -> Sequence[PolicyEntry]:
        """Implement ConfigurationSource.policies."""
        if not self.ready:
            raise NotReadyError
        return self.entries

    async def namespace(self, name: str) -> Object | None:
        """Implement NamespaceSource."""
        return self.spaces.get(name)

    async def is_namespaced(self, _api_version: str, kind: str) -> bool | None:
        """Implement ParamSource.is_namespaced."""
        return self.known.get(kind)

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        """Implement ParamSource.params."""
        self.queries.append(query)
        return [one for one in self.parameters if query.name in {"", one["metadata"]["name"]}]

    async def authorize(self, _user: UserInfo, info: RequestInfo) -> Verdict:
        """Allow only `get`."""
        self.checks.append(info)
        return ALLOWED if info.verb == "get" else NO_OPINION

    @property
    def all(self) -> Any:
        """Return the sources as plug-ins get them."""
        mine: Any = self
        return AdmissionSources(mine, mine, mine, mine, mine, self.stats)


class Objects:
    """An endpoint whose versions v1 and v2 have equal objects; v3 cannot be converted."""

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Implement ObjectInterfaces."""
        return [EquivalentResource(resource(version), kind(version)) for version in ("v1", "v2", "v3")]

    async def convert(self, obj: Object, target: GroupVersionKind) -> Object:
        """Implement ObjectInterfaces."""
        if target.version == "v3":
            raise ValueError("no v3")
        return obj if obj.get("apiVersion") == target.api_version else {**obj, "apiVersion": target.api_version}

    async def complete(self, obj: Object, *, strict: bool = False) -> Object:
        """Implement ObjectInterfaces: set a default. Objects with other than their fields are refused if `strict`."""
        if not obj.get("kind"):
            raise ValueError("Object 'Kind' is missing")
        if "data" in obj:
            raise ValueError("illegal base64 data at input byte 0")
        if strict and "nothing" in obj:
            raise ValueError('strict decoding error: unknown field "nothing"')
        return {**obj, "spec": {"mode": "auto", **(obj.get("spec") or {})}}

    async def apply_configuration(self, obj: Object, configuration: Object) -> Object:
        """Implement ObjectInterfaces: merge objects."""
        if "atomic" in (configuration.get("spec") or {}):
            raise ValueError("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.atomic")
        merged: Object = _merge(obj, configuration)
        return merged


def _merge(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _merge(old.get(name), value) for name, value in new.items()}}
    return json_values.copy(new)


def kind(version: str = "v1") -> GroupVersionKind:
    """Return the kind of widgets."""
    return GroupVersionKind(GROUP, version, "Widget")


def resource(version: str = "v1") -> GroupVersionResource:
    """Return the resource of widgets."""
    return GroupVersionResource(GROUP, version, "widgets")


def write(spec: Mapping[str, Any] | None = None, *, version: str = "v1", old: Object | None = None, **more: Any) -> Attributes:
    """Return the creation of a widget, or its update if there is an old one."""
    new = {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}}, "spec": dict(spec or {})}
    members = {
        "operation": AdmissionOperation.CREATE if old is None else AdmissionOperation.UPDATE,
        "kind": kind(version),
        "resource": resource(version),
        "user": UserInfo("bob"),
        "namespace": "here",
        "name": "w",
        "new": new,
        "old": old,
        "objects": Objects(),
        "options": lambda: {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    return Attributes(**{**members, **more})


def policy(name: str = "p", *bindings: Mapping[str, Any], **spec: Any) -> PolicyEntry:
    """Return a policy for widgets with its bindings; each has the name of the policy and a number."""
    constraints = {"resourceRules": [_RULE], "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    full = {"failurePolicy": "Fail", "matchConstraints": constraints, **spec}
    bound = [_binding(f"{name}-{number}", name, binding) for number, binding in enumerate(bindings or ({},))]
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return PolicyEntry({"metadata": metadata, "spec": full}, bound)


def _binding(name: str, policy_name: str, spec: Mapping[str, Any]) -> Object:
    return {"metadata": {"name": name}, "spec": {"policyName": policy_name, "validationActions": ["Deny"], **spec}}


def validation(expression: str, **more: Any) -> dict[str, Any]:
    """Return a validation."""
    return {"expression": expression, **more}
