"""A quota, and what the creation of one more object makes of it (apiserver pkg/quota/v1/generic/evaluator.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from apiext.admission.attributes import Attributes
from apiext.meta import errors, quantity
from apiext.meta.gvk import GroupResource

_ONE: Final = quantity.parse("1")


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota of the host."""

    namespace: str
    name: str
    revision: int
    hard: Mapping[str, str]
    """Limits that are in force, by what they limit."""
    used: Mapping[str, str]
    scoped: bool
    """Whether it is for some objects only; none of a custom resource is among them."""
    content: Mapping[str, Any]
    """All of it, `used` apart."""

    def limits(self, counted: str) -> bool:
        """Whether objects that are counted under this name are limited by it."""
        return not self.scoped and counted in self.hard

    def to_wire(self) -> dict[str, Any]:
        """The object with what is used now."""
        return {**self.content, "status": {**(self.content.get("status") or {}), "used": dict(self.used)}}


def read_quota(found: Mapping[str, Any]) -> Quota:
    """The quota that an object is."""
    metadata, spec, status = (found.get(member) or {} for member in ("metadata", "spec", "status"))
    return Quota(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        revision=int(metadata.get("resourceVersion") or 0),
        hard=status.get("hard") or {},
        used=status.get("used") or {},
        scoped=bool(spec.get("scopes") or (spec.get("scopeSelector") or {}).get("matchExpressions")),
        content=found,
    )


def count_name(resource: GroupResource) -> str:
    """Under which name quotas count the objects of a resource."""
    return f"count/{resource}"


def charged(quotas: Sequence[Quota], attributes: Attributes) -> tuple[Quota, ...]:
    """The quotas as the creation of an object leaves them. Raises StatusError (403) where one does not allow it."""
    counted = count_name(attributes.resource.group_resource)
    for quota in quotas:
        if quota.limits(counted) and counted not in quota.used:
            raise _refused(attributes, f"status unknown for quota: {quota.name}, resources: {counted}")
    return tuple(_with_one_more(quota, counted, attributes) if quota.limits(counted) else quota for quota in quotas)


def _with_one_more(quota: Quota, counted: str, attributes: Attributes) -> Quota:
    used, limit = quantity.parse(quota.used[counted]), quantity.parse(quota.hard[counted])
    total = used + _ONE
    if total.amount > limit.amount:
        facts = {"requested": _ONE, "used": used, "limited": limit}
        told = ", ".join(f"{what}: {counted}={amount}" for what, amount in facts.items())
        raise _refused(attributes, f"exceeded quota: {quota.name}, {told}")
    return replace(quota, used={**quota.used, counted: str(total)})


def _refused(attributes: Attributes, why: str) -> errors.StatusError:
    return errors.forbidden(attributes.resource.group_resource, attributes.object_name, why)
