"""The built-in resources that a server answers without storing them: reviews of users and of their rights, and token requests."""

from __future__ import annotations

from typing import Final

from apiext.base.meta.builtin_resources import BuiltinGroupVersion, BuiltinResource, builtin_resource
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind

_CREATE: Final = ("create",)
TOKEN_REQUEST: Final = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")


def _review(group: str, kind: str, *, namespaced: bool = False) -> BuiltinResource:
    return builtin_resource(GroupVersionKind(f"{group}.k8s.io", "v1", kind), namespaced=namespaced, verbs=_CREATE)


TOKEN_REVIEWS: Final = _review("authentication", "TokenReview")
SELF_SUBJECT_REVIEWS: Final = _review("authentication", "SelfSubjectReview")
LOCAL_SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEWS: Final = _review("authorization", "SelfSubjectRulesReview")
SUBJECT_ACCESS_REVIEWS: Final = _review("authorization", "SubjectAccessReview")

AUTHENTICATION_V1: Final = BuiltinGroupVersion(
    GroupVersion("authentication.k8s.io", "v1"), 17700, 15, (SELF_SUBJECT_REVIEWS, TOKEN_REVIEWS)
)
AUTHORIZATION_V1: Final = BuiltinGroupVersion(
    GroupVersion("authorization.k8s.io", "v1"),
    17600,
    15,
    (LOCAL_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_ACCESS_REVIEWS, SELF_SUBJECT_RULES_REVIEWS, SUBJECT_ACCESS_REVIEWS),
)
REVIEWS: Final = (AUTHENTICATION_V1, AUTHORIZATION_V1)
"""Groups of a standalone server; behind a kube-apiserver, that one has them."""
