"""The types of reviews and token requests as their Go structs define them (k8s.io/api authorization/v1 and authentication/v1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import GoType, Slice, String
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.protobuf.kinds import Items, Message, Scalar, message_of

if TYPE_CHECKING:
    from apiext.base.meta.golang.struct_type import Struct

_EXTRA: Final = Slice(String(), "v1.ExtraValue")
_ATTESTATION: Final = Slice(String(), "v1.AttestationValue")
_CONTENTS: Final[dict[GoType, Scalar | Message]] = {each: Items(Scalar.TEXT) for each in (_EXTRA, _ATTESTATION)}


def message(go_type: Struct) -> Message:
    """Return the Protobuf message of one of these types."""
    return message_of(go_type, _CONTENTS)


def _kind(name: str, fields: str, *types: Struct) -> Struct:
    return struct(name, f"TypeMeta, 1 metadata! ObjectMeta, {fields}", OBJECT_META, *types)


# --- authorization.k8s.io/v1 ------------------------------------------------------------------------------------------

_LABEL_REQUIREMENT: Final = struct("LabelSelectorRequirement", "1 key!, 2 operator! v1.LabelSelectorOperator, 3 values []string")
_FIELD_REQUIREMENT: Final = struct("FieldSelectorRequirement", "1 key!, 2 operator! v1.FieldSelectorOperator, 3 values []string")
_RESOURCE: Final = struct(
    "ResourceAttributes",
    "1 namespace, 2 verb, 3 group, 4 version, 5 resource, 6 subresource, 7 name,"
    "8 fieldSelector *FieldSelectorAttributes, 9 labelSelector *LabelSelectorAttributes",
    struct("FieldSelectorAttributes", "1 rawSelector, 2 requirements []FieldSelectorRequirement", _FIELD_REQUIREMENT),
    struct("LabelSelectorAttributes", "1 rawSelector, 2 requirements []LabelSelectorRequirement", _LABEL_REQUIREMENT),
)
_NON_RESOURCE: Final = struct("NonResourceAttributes", "1 path, 2 verb")
_ATTRIBUTES: Final = "1 resourceAttributes *ResourceAttributes, 2 nonResourceAttributes *NonResourceAttributes"
_SPEC: Final = struct(
    "SubjectAccessReviewSpec",
    f"{_ATTRIBUTES}, 3 user, 4 groups []string, 5 extra map[string]v1.ExtraValue, 6 uid",
    *(_RESOURCE, _NON_RESOURCE, _EXTRA),
)
_STATUS: Final = struct("SubjectAccessReviewStatus", "1 allowed! bool, 4 denied bool, 2 reason, 3 evaluationError")
_ACCESS_REVIEW: Final = "2 spec! SubjectAccessReviewSpec, 3 status! SubjectAccessReviewStatus"
SUBJECT_ACCESS_REVIEW: Final = _kind("SubjectAccessReview", _ACCESS_REVIEW, _SPEC, _STATUS)
LOCAL_SUBJECT_ACCESS_REVIEW: Final = _kind("LocalSubjectAccessReview", _ACCESS_REVIEW, _SPEC, _STATUS)
SELF_SUBJECT_ACCESS_REVIEW: Final = _kind(
    "SelfSubjectAccessReview",
    "2 spec! SelfSubjectAccessReviewSpec, 3 status! SubjectAccessReviewStatus",
    *(struct("SelfSubjectAccessReviewSpec", _ATTRIBUTES, _RESOURCE, _NON_RESOURCE), _STATUS),
)
SELF_SUBJECT_RULES_REVIEW: Final = _kind(
    "SelfSubjectRulesReview",
    "2 spec! SelfSubjectRulesReviewSpec, 3 status! SubjectRulesReviewStatus",
    struct("SelfSubjectRulesReviewSpec", "1 namespace"),
    struct(
        "SubjectRulesReviewStatus",
        "1 resourceRules! []ResourceRule, 2 nonResourceRules! []NonResourceRule, 3 incomplete! bool, 4 evaluationError",
        struct("ResourceRule", "1 verbs! []string, 2 apiGroups []string, 3 resources []string, 4 resourceNames []string"),
        struct("NonResourceRule", "1 verbs! []string, 2 nonResourceURLs []string"),
    ),
)

# --- authentication.k8s.io/v1 -----------------------------------------------------------------------------------------

_USER: Final = struct("UserInfo", "1 username, 2 uid, 3 groups []string, 4 extra map[string]v1.ExtraValue", _EXTRA)
SELF_SUBJECT_REVIEW: Final = _kind(
    "SelfSubjectReview", "2 status! SelfSubjectReviewStatus", struct("SelfSubjectReviewStatus", "1 userInfo! UserInfo", _USER)
)
TOKEN_REVIEW: Final = _kind(
    "TokenReview",
    "2 spec! TokenReviewSpec, 3 status! TokenReviewStatus",
    struct("TokenReviewSpec", "1 token, 2 audiences []string"),
    struct("TokenReviewStatus", "1 authenticated bool, 2 user! UserInfo, 4 audiences []string, 3 error", _USER),
)
TOKEN_REQUEST: Final = _kind(
    "TokenRequest",
    "2 spec! TokenRequestSpec, 3 status! TokenRequestStatus",
    struct(
        "TokenRequestSpec",
        "1 audiences! []string, 4 expirationSeconds! *int64, 3 boundObjectRef! *BoundObjectReference,"
        "5 attestations map[string]v1.AttestationValue",
        *(struct("BoundObjectReference", "1 kind, 2 apiVersion, 3 name, 4 uid types.UID"), _ATTESTATION),
    ),
    struct("TokenRequestStatus", "1 token!, 2 expirationTimestamp! Time"),
)
