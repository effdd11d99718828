"""A quota, and its charge for one more object (apiserver pkg/quota/v1/generic/evaluator.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from apiext.api.admission.attributes import Attributes
from apiext.base.meta import errors, quantity
from apiext.base.meta.gvk import GroupResource

_ONE: Final = quantity.parse("1")


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota of the host."""

    namespace: str
    name: str
    revision: int
    hard: Mapping[str, str]
    """Enforced limits by resource name."""
    used: Mapping[str, str]
    scoped: bool
    """Whether the quota has scopes, so that it never applies to custom resources."""
    content: Mapping[str, Any]
    """The whole object with the usage as read."""

    def limits(self, counted: str) -> bool:
        """Return whether the quota limits this count."""
        return not self.scoped and counted in self.hard

    def to_wire(self) -> dict[str, Any]:
        """Return the object with the current usage."""
        return {**self.content, "status": {**(self.content.get("status") or {}), "used": dict(self.used)}}


def read_quota(found: Mapping[str, Any]) -> Quota:
    """Return the quota of a ResourceQuota object."""
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
    """Return the name under which quotas count the objects of a resource."""
    return f"count/{resource}"


def charged(quotas: Sequence[Quota], attributes: Attributes) -> tuple[Quota, ...]:
    """Return the quotas after one more object.

    Raises:
        StatusError: 403, if the object exceeds a quota or the usage is unknown.
    """
    counted = count_name(attributes.resource.group_resource)
    for quota in quotas:
        if quota.limits(counted) and counted not in quota.used:
            raise _forbidden(attributes, f"status unknown for quota: {quota.name}, resources: {counted}")
    return tuple(_with_one_more(quota, counted, attributes) if quota.limits(counted) else quota for quota in quotas)


def _with_one_more(quota: Quota, counted: str, attributes: Attributes) -> Quota:
    used, limit = quantity.parse(quota.used[counted]), quantity.parse(quota.hard[counted])
    total = used + _ONE
    if total.amount > limit.amount:
        facts = {"requested": _ONE, "used": used, "limited": limit}
        amounts = ", ".join(f"{what}: {counted}={amount}" for what, amount in facts.items())
        raise _forbidden(attributes, f"exceeded quota: {quota.name}, {amounts}")
    return replace(quota, used={**quota.used, counted: str(total)})


def _forbidden(attributes: Attributes, reason: str) -> errors.StatusError:
    return errors.forbidden(attributes.resource.group_resource, attributes.object_name, reason)
