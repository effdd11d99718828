"""Conditions and finalizers of a definition (apiextensions-apiserver pkg/apihelpers), and the approval that one of them reports."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang import formatting
from apiext.base.meta.objectmeta import conditions

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
NON_STRUCTURAL_SCHEMA: Final = "NonStructuralSchema"
TERMINATING: Final = "Terminating"
CONVERSION_WEBHOOK_AVAILABLE: Final = "ConversionWebhookAvailable"
"""Set by apiext only: False while the conversion webhook does not answer, True once it answers again."""
STORAGE_MIGRATION_PROBLEMS: Final = "StorageMigrationProblems"
"""Set by apiext only: some objects were not migrated automatically, or do not satisfy their schema."""
API_APPROVAL: Final = "KubernetesAPIApprovalPolicyConformant"

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition for a definition's status, without its time."""

    type: str
    status: str
    reason: str
    message: str

    def equals(self, existing: Object | None) -> bool:
        """Report whether a condition in a status is equal, apart from its time."""
        return (
            existing is not None
            and existing["status"] == self.status
            and existing.get("reason", "") == self.reason
            and existing.get("message", "") == self.message
        )


def find(crd: Object, condition_type: str) -> Object | None:
    """Return the condition of a type, or None."""
    return conditions.find(_all(crd), condition_type)


def is_true(crd: Object, condition_type: str) -> bool:
    """Report whether a condition exists and is True."""
    return conditions.is_true(_all(crd), condition_type)


def put(crd: Object, condition: Condition) -> None:
    """Set a condition, unless an equal one exists. Replace the list of conditions instead of changing it."""
    if not condition.equals(find(crd, condition.type)):
        crd["status"] = crd["status"] | {"conditions": conditions.with_condition(_all(crd), asdict(condition))}


def remove(crd: Object, condition_type: str) -> None:
    """Remove a condition, if it exists. Replace the list of conditions instead of changing it."""
    if find(crd, condition_type) is not None:
        kept = [condition for condition in _all(crd) if condition["type"] != condition_type]
        crd["status"] = crd["status"] | {"conditions": kept}


def _all(crd: Object) -> list[Object]:
    return (crd.get("status") or {}).get("conditions") or []


ANNOTATION: Final = "api-approved.kubernetes.io"
_LINK: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?P<host>[^/?\x00-\x20\x7f]+)[^\x00-\x20\x7f]*")


class Approval(Enum):
    """State of the annotation. The value is status and reason of the condition."""

    INVALID = "False", "InvalidAnnotation"
    APPROVED = "True", "ApprovedAnnotation"
    BYPASSED = "False", "UnapprovedAnnotation"
    MISSING = "False", "MissingAnnotation"


def is_protected(group: str) -> bool:
    """Report whether a group belongs to the Kubernetes community."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval(crd: Object) -> tuple[Approval, str]:
    """Return the state of a definition's approval annotation, and the message of the condition."""
    text = crd["metadata"].get("annotations", {}).get(ANNOTATION, "")
    wanted = f"protected groups must have approval annotation {formatting.quote(ANNOTATION)}"
    if not text:
        return Approval.MISSING, f"{wanted}, {_LINK}"
    if text.startswith("unapproved"):
        return Approval.BYPASSED, f"not approved: {formatting.quote(text)}"
    url = _URL.fullmatch(text)
    if url is not None and url["host"].rpartition("@")[2]:
        return Approval.APPROVED, f"approved in {text}"
    return Approval.INVALID, f'{wanted} with either a URL or a reason starting with "unapproved", {_LINK}'


def condition(crd: Object) -> Condition | None:
    """Return the approval condition of a definition in a community group, None for other groups."""
    if not is_protected(crd["spec"]["group"]):
        return None
    state, message = approval(crd)
    status, reason = state.value
    return Condition(API_APPROVAL, status, reason, message)
