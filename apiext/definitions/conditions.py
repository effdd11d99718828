"""Conditions and finalizers of a definition (apiextensions-apiserver pkg/apihelpers)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.meta import time

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
NON_STRUCTURAL_SCHEMA: Final = "NonStructuralSchema"
TERMINATING: Final = "Terminating"
API_APPROVAL: Final = "KubernetesAPIApprovalPolicyConformant"

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Condition:
    """What is known of one aspect of a definition."""

    type: str
    status: str
    reason: str
    message: str

    def equals(self, existing: Object | None) -> bool:
        """Whether a condition in a status says the same, at whatever time."""
        return (
            existing is not None
            and existing["status"] == self.status
            and existing.get("reason", "") == self.reason
            and existing.get("message", "") == self.message
        )


def find(crd: Object, condition_type: str) -> Object | None:
    """The condition of a type, if there is one."""
    conditions: list[Object] = crd["status"]["conditions"] or []
    return next((condition for condition in conditions if condition["type"] == condition_type), None)


def is_true(crd: Object, condition_type: str) -> bool:
    """Whether the condition is there and True."""
    condition = find(crd, condition_type)
    return condition is not None and condition["status"] == "True"


def put(crd: Object, condition: Condition) -> None:
    """Set a condition; its time changes with its status only. Replaces the list of conditions and changes nothing in it."""
    fresh: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": time.now(),
        "reason": condition.reason,
        "message": condition.message,
    }
    conditions = list(crd["status"]["conditions"] or [])
    for index, existing in enumerate(conditions):
        if existing["type"] == condition.type:
            if existing["status"] == condition.status and existing.get("lastTransitionTime"):
                fresh["lastTransitionTime"] = existing["lastTransitionTime"]
            conditions[index] = existing | fresh
            break
    else:
        conditions.append(fresh)
    crd["status"] = crd["status"] | {"conditions": conditions}


def remove(crd: Object, condition_type: str) -> None:
    """Take a condition away."""
    conditions = [condition for condition in crd["status"]["conditions"] or [] if condition["type"] != condition_type]
    crd["status"] = crd["status"] | {"conditions": conditions}


def has_cleanup_finalizer(crd: Object) -> bool:
    """Whether the instances have yet to be deleted before the definition may go."""
    return CLEANUP_FINALIZER in crd["metadata"].get("finalizers", ())


def is_being_deleted(crd: Object) -> bool:
    """Whether somebody has asked for the definition's deletion."""
    return crd["metadata"].get("deletionTimestamp") is not None
