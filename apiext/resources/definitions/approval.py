"""API approval annotation of definitions in community groups (apiextensions-apiserver pkg/apihelpers)."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang import formatting
from apiext.resources.definitions.conditions import API_APPROVAL, Condition

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

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
